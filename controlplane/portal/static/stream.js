/* The one stream of a browser: pages say hello and are told "changed", "lost" or "here"; they ask for themselves.
   The stream is of all a person may read. Which clusters a change is about decides which pages hear of it; of one whose
   Kafka alone was read anew, pages of that cluster. */
"use strict";
(() => {
  const AGAIN_MS = 5000;
  const pages = new Map();
  const changedAt = new Map();
  let source = null, again = 0, isLost = false;
  let from = 0, last = 0, lastForAll = 0;

  const tell = (word, port) => { for (const to of port ? [port] : pages.keys()) to.postMessage(word); };
  const lose = (on) => { if (isLost !== on) { isLost = on; tell(on ? "lost" : "here"); } };

  const changed = (event) => {
    lose(false);
    last = Number(event.lastEventId) || last;
    const { clusters, read = [] } = JSON.parse(event.data);
    if (!clusters) { lastForAll = last; tell("changed"); return; }
    for (const uid of clusters) changedAt.set(uid, last);
    for (const [port, page] of pages) {
      if (page.cluster ? clusters.includes(page.cluster) || read.includes(page.cluster) : clusters.length) {
        tell("changed", port);
      }
    }
  };

  const close = () => { if (source) source.close(); source = null; clearTimeout(again); again = 0; };
  const later = () => { close(); again = setTimeout(() => { again = 0; if (pages.size) open(last); }, AGAIN_MS); };

  const open = (seen) => {
    close();
    from = seen;
    source = new EventSource(`/live?seen=${seen}`);
    source.addEventListener("here", (event) => {
      if (isLost) tell("changed");
      lose(false);
      last = Number(event.lastEventId) || last;
    });
    source.addEventListener("changed", changed);
    /* The session is over: every page asks for itself, and is led to the login page. Who stays may have a new one. */
    source.addEventListener("over", () => { tell("changed"); later(); });
    source.onerror = () => {
      lose(true);
      if (source && source.readyState === EventSource.CLOSED) { tell("changed"); later(); }
    };
  };

  /* A page that was drawn before something happened, and says hello after it, has to hear of it as well. */
  const hasMissed = (page) => {
    if (page.seen < from || page.seen < lastForAll) return true;
    if (page.cluster) return (changedAt.get(page.cluster) || 0) > page.seen;
    return [...changedAt.values()].some((position) => position > page.seen);
  };

  self.onconnect = ({ ports: [port] }) => {
    port.onmessage = ({ data }) => {
      if (!self.EventSource) { tell("alone", port); return; }
      if (data === "bye") {
        pages.delete(port);
        port.close();
        if (!pages.size) close();
        return;
      }
      pages.set(port, data);
      if (!source) { isLost = false; open(data.seen); } else if (hasMissed(data)) tell("changed", port);
      if (isLost) tell("lost", port);
    };
  };
})();
