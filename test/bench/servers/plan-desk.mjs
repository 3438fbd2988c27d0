// Requests to the further endpoints of the service (boot/src/main/java/desk/Desk.java), by number of the request.

const headers = { authorization: `Basic ${Buffer.from('u:p').toString('base64')}` }
const calls = { narrow: 1, high: 1 }

const TENANTS = ['acme', 'globex', 'hooli', 'initech', 'stark', 'umbrella', 'vandelay', 'wayne']
const WAREHOUSES = ['hamburg', 'rotterdam', 'lyon', 'porto']
const CURRENCIES = ['EUR', 'USD', 'JPY', 'GBP', 'CHF']
const COUPONS = ['NONE', 'WELCOME', 'NONE', 'SPRING', 'NONE', 'FRIEND']

const of = (values, i) => values[i % values.length]

export default function plan(port) {
  const paths = [
    (i) => `/report?tenant=${of(TENANTS, i)}`,
    (i) => `/stock?warehouse=${of(WAREHOUSES, i)}&item=${i % 500}`,
    (i) => `/quote?currency=${of(CURRENCIES, i)}&amount=${1 + (i % 90)}`,
    (i) => `/checkout?cart=cart-${i % 1000}&coupon=${of(COUPONS, i)}`,
  ]
  return {
    prepare: async () => {},
    request(number) {
      const path = of(paths, number)(Math.floor(number / paths.length))
      return { method: 'GET', url: `http://127.0.0.1:${port}${path}`, headers, calls }
    },
  }
}
