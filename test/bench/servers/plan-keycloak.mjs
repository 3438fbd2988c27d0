// Requests to Keycloak, by number of the request: tokens by client credentials, and every 40th by a user's password (both call the narrow
// root). 1 of 4 requests looks a token up.

const headers = { 'content-type': 'application/x-www-form-urlencoded' }
const form = (fields) => new URLSearchParams(fields).toString()
const SERVICE = { client_id: 'load', client_secret: 's' }
const ADMIN = { grant_type: 'password', username: 'admin', password: 'admin' }

// The high root, InvocationHandler.handle, is called for each resource in the path: realm, protocol, the token endpoint (and its
// introspection).
const TOKEN = { narrow: 1, high: 3 }
const LOOK_UP = { narrow: 0, high: 4 }

export default function plan(port) {
  const at = `http://127.0.0.1:${port}`
  const tokens = `${at}/realms/master/protocol/openid-connect/token`
  let known = ''
  const token = (fields) => ({ method: 'POST', url: tokens, headers, body: form(fields), calls: TOKEN })

  return {
    /** Creates the client account that the load uses. */
    async prepare(call) {
      const access = async (fields) => JSON.parse((await succeed(call, token(fields))).text).access_token
      const admin = await access({ client_id: 'admin-cli', ...ADMIN })
      await succeed(call, {
        method: 'POST',
        url: `${at}/admin/realms/master/clients`,
        headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          clientId: SERVICE.client_id,
          secret: SERVICE.client_secret,
          serviceAccountsEnabled: true,
          directAccessGrantsEnabled: true,
          publicClient: false,
        }),
      })
      known = await access({ ...SERVICE, ...ADMIN, scope: 'openid' })
    },
    request(i) {
      if (i % 40 === 3) return token({ ...SERVICE, ...ADMIN, scope: 'openid' })
      if (i % 4 === 1) {
        const body = form({ ...SERVICE, token: known })
        return { method: 'POST', url: `${tokens}/introspect`, headers, body, calls: LOOK_UP }
      }
      return token({ ...SERVICE, grant_type: 'client_credentials' })
    },
  }
}

async function succeed(call, request) {
  const answer = await call(request)
  if (answer.status < 200 || answer.status > 299) {
    throw new Error(`${request.url} answered ${answer.status}: ${answer.text.slice(0, 200)}`)
  }
  return answer
}
