// Requests to the service, by number of the request: 1 of 5 orders, 2 of 5 histories (the narrow root), 2 of 5 searches.

const headers = {
  authorization: `Basic ${Buffer.from('u:p').toString('base64')}`,
  'content-type': 'application/json',
}

const BOTH_ROOTS = { narrow: 1, high: 1 }
const ROOT_ABOVE = { narrow: 0, high: 1 }

export default function plan(port) {
  const shop = `http://127.0.0.1:${port}/shop`
  return {
    prepare: async () => {},
    request(i) {
      const customer = `c${i % 40}`
      if (i % 5 === 0) {
        const items = { [1 + (i % 500)]: 2, [1 + ((i * 7) % 500)]: 1, [1 + ((i * 13) % 500)]: 3 }
        const body = JSON.stringify({ customer, items })
        return { method: 'POST', url: `${shop}/order`, headers, body, calls: ROOT_ABOVE }
      }
      if (i % 5 < 3) return { method: 'GET', url: `${shop}/history/${customer}`, headers, calls: BOTH_ROOTS }
      const part = (i % 36).toString(36)
      return { method: 'GET', url: `${shop}/search?q=${part}`, headers, calls: ROOT_ABOVE }
    },
  }
}
