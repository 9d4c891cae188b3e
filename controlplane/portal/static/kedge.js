/* What pages need beside htmx: the key "/", news of changes, ages that grow, and panels that stay open. */
"use strict";
(() => {
  const region = () => document.getElementById("live");

  document.addEventListener("keydown", (event) => {
    const at = event.target;
    const typing = at instanceof HTMLElement && (at.matches("input, textarea, select") || at.isContentEditable);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const field = document.getElementById("search");
      if (field) { event.preventDefault(); field.focus(); field.select(); }
    }
    if (event.key === "Escape") {
      const open = document.querySelector("details.act[open]");
      if (open) { open.open = false; open.querySelector("summary").focus(); }
    }
  });

  /* The server says that something changed; the region asks for itself again, a few times a second at most. */
  const EVERY_MS = 400;
  let last = 0, waiting = 0;
  const ask = () => {
    if (waiting) return;
    waiting = window.setTimeout(() => {
      waiting = 0;
      last = Date.now();
      const here = region();
      if (here && !here.querySelector("details.act[open]")) htmx.trigger(here, "kedge:changed");
      else if (here) ask();
    }, Math.max(0, last + EVERY_MS - Date.now()));
  };
  const lost = (on) => {
    const banner = document.getElementById("lost");
    if (banner) banner.classList.toggle("on", on);
  };
  /* One stream for all pages of this browser: it allows six connections to a server, and people open more pages. */
  const share = (main) => {
    const { stream, who } = document.body.dataset;
    const worker = new SharedWorker(stream, { name: `kedge ${who}` });
    const asked = new URL(main.dataset.live, location.href).searchParams;
    const hello = { cluster: asked.get("cluster") || "", seen: Number(asked.get("seen") || 0) };
    worker.onerror = () => { worker.onerror = null; worker.port.close(); alone(main); };
    worker.port.onmessage = ({ data }) => {
      if (data === "alone") { worker.port.close(); alone(main); }
      else if (data === "changed") ask();
      else lost(data === "lost");
    };
    worker.port.postMessage(hello);
    window.addEventListener("pagehide", () => worker.port.postMessage("bye"));
  };
  const listen = () => {
    const main = document.querySelector("[data-live]");
    if (!main || !window.EventSource) return;
    window.addEventListener("pageshow", (event) => { if (event.persisted) window.location.reload(); });
    try {
      if (window.SharedWorker) { share(main); return; }
    } catch (refused) { console.info(`no shared stream: ${refused}`); }
    alone(main);
  };
  const alone = (main) => {
    const source = new EventSource(main.dataset.live);
    let wasLost = false;
    source.addEventListener("here", () => { lost(false); if (wasLost) ask(); wasLost = false; });
    /* Of a cluster whose Kafka alone was read anew, a page of all of them shows nothing new. */
    const isOfAll = !new URL(main.dataset.live, location.href).searchParams.get("cluster");
    source.addEventListener("changed", ({ data }) => {
      lost(false);
      wasLost = false;
      const { clusters } = JSON.parse(data);
      if (!isOfAll || !clusters || clusters.length) ask();
    });
    source.addEventListener("over", () => { source.close(); ask(); });
    source.onerror = () => {
      wasLost = true;
      lost(true);
      if (source.readyState === EventSource.CLOSED) {
        ask();
        window.setTimeout(() => alone(main), 5000);
      }
    };
    window.addEventListener("pagehide", () => source.close());
  };

  /* What one may not see any more does not stay on the screen: the error is the page now. */
  document.addEventListener("htmx:responseError", ({ detail }) => {
    if (detail.target && detail.target.id === "live" && [403, 404].includes(detail.xhr.status)) location.reload();
  });

  /* The region may be drawn anew while a filter waits for its answer, which would go to the one that was there before:
     it goes to the one that is there now. What the former region had asked for itself is left behind with it. */
  document.addEventListener("htmx:beforeSend", ({ detail }) => {
    detail.xhr.addEventListener("readystatechange", () => {
      if (detail.xhr.readyState !== 4 || !detail.elt.isConnected || !detail.target || detail.target.isConnected) return;
      detail.target = document.getElementById(detail.target.id) || detail.target;
    });
  });

  /* Panels a person opened stay open when the region is drawn anew. */
  let open = [];
  document.addEventListener("htmx:beforeSwap", () => {
    open = [...document.querySelectorAll("details[id][open]")].map((panel) => panel.id);
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const id of open) { const panel = document.getElementById(id); if (panel) panel.open = true; }
    age();
  });

  const words = (seconds) => {
    const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    const found = units.findIndex(([size]) => seconds >= size);
    const first = found < 0 ? 3 : found;
    let left = Math.round(seconds);
    return units.slice(first, first + 2).map(([size, unit]) => {
      const count = Math.floor(left / size);
      left -= count * size;
      return count || size === units[first][0] ? `${count} ${unit}` : "";
    }).filter(Boolean).join(" ") + " ago";
  };
  /* The server's clock counts: its time when the page was made, and how long ago that was. */
  const age = () => {
    const made = Date.parse(document.body.dataset.now || "");
    const here = region();
    const fresh = here && here.dataset.now ? Date.parse(here.dataset.now) : made;
    if (!fresh) return;
    const key = String(fresh);
    if (age.key !== key) { age.key = key; age.at = performance.now(); }
    const now = fresh + performance.now() - age.at;
    for (const spot of document.querySelectorAll("time[data-ago]")) {
      spot.textContent = words(Math.max(0, (now - Date.parse(spot.dateTime)) / 1000));
    }
  };

  /* The browser's own zone, offered beside the field: the choice stays the person's. */
  const ownZone = () => {
    const field = document.querySelector("[data-zone]"), spot = document.querySelector("[data-zone-here]");
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (!field || !spot || !own || own === field.value) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button";
    button.textContent = `Use this browser's: ${own}`;
    button.addEventListener("click", () => { field.value = own; field.form.submit(); });
    spot.append(button);
  };

  document.addEventListener("DOMContentLoaded", () => {
    ownZone();
    listen();
    age();
    window.setInterval(age, 1000);
  });
})();
