// An OpenID provider on loopback for tests. Its one argument is JSON:
// {port, client, secret, redirects, ways_out, people: {login: {email, email_verified, groups}}, keys, backchannel}
// It prints a line when it listens. Its own development pages take any login that is in `people`.
import Provider from "oidc-provider";

const told = JSON.parse(process.argv[2]);
const issuer = `http://127.0.0.1:${told.port}`;

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: told.client,
      client_secret: told.secret,
      redirect_uris: told.redirects,
      post_logout_redirect_uris: told.ways_out,
      grant_types: ["authorization_code"],
      response_types: ["code"],
      ...(told.backchannel && { backchannel_logout_uri: told.backchannel }),
    },
  ],
  jwks: { keys: told.keys },
  cookies: { keys: ["only for tests"] },
  pkce: { required: () => true },
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["groups"] },
  features: { devInteractions: { enabled: true }, backchannelLogout: { enabled: true } },
  // Without its own guard against addresses of a private network: whom it tells of a sign-out is on loopback here.
  fetch: (url, { dispatcher, ...options }) => globalThis.fetch(url, options),
  ttl: { Session: 600, Grant: 600, Interaction: 600, AccessToken: 300, IdToken: 300 },
  findAccount: (_, id) => {
    const person = told.people[id];
    return person && { accountId: id, claims: async () => ({ sub: id, ...person }) };
  },
});

provider.listen(told.port, "127.0.0.1", () => console.log(`listening ${issuer}`));
