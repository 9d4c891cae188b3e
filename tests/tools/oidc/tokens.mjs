// An OpenID provider over https that gives programs tokens by their client credentials. Its one argument is JSON:
// {port, clients: {id: secret}, audience, ttl_s, keys, tls: {key, cert}}. It prints a line when it listens.
import https from "node:https";
import Provider from "oidc-provider";

const told = JSON.parse(process.argv[1]);
const issuer = `https://127.0.0.1:${told.port}`;

const provider = new Provider(issuer, {
  clients: Object.entries(told.clients).map(([client_id, client_secret]) => ({
    client_id,
    client_secret,
    redirect_uris: [],
    response_types: [],
    grant_types: ["client_credentials"],
  })),
  jwks: { keys: told.keys },
  cookies: { keys: ["only for tests"] },
  scopes: ["kafka"],
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => "urn:kafka",
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: "kafka",
        audience: told.audience,
        accessTokenFormat: "jwt",
        accessTokenTTL: told.ttl_s,
        jwt: { sign: { alg: "RS256" } },
      }),
    },
  },
});

https
  .createServer(told.tls, provider.callback())
  .listen(told.port, "127.0.0.1", () => console.log(`listening ${issuer}`));
