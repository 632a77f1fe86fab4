/** Heads as they are met in the wild, small and usual. */
export const SMALL_REQUEST: string =
  'GET /index.html?page=1 HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: wrk/4.2.0 (test)\r\n' +
  'Accept: */*\r\nConnection: keep-alive\r\n\r\n';
export const BROWSER_REQUEST: string =
  'GET /shop/cart/items/4711?sort=price&order=asc HTTP/1.1\r\nHost: shop.example.com\r\n' +
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n' +
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\n' +
  'Accept-Encoding: gzip, deflate, br\r\nReferer: https://shop.example.com/shop/cart\r\nConnection: keep-alive\r\n' +
  'Cookie: session=0123456789abcdef0123456789abcdef; lb=AQEtZ0d5c2FtcGxldmFsdWVzYW1wbGU\r\n' +
  'Upgrade-Insecure-Requests: 1\r\n\r\n';
export const RESPONSE: string =
  'HTTP/1.1 200 OK\r\nServer: test\r\nDate: Mon, 30 Nov 2026 09:00:00 GMT\r\n' +
  'Content-Type: text/plain\r\nContent-Length: 45\r\n\r\n';
