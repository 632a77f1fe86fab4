/** What `private_ranges` stands for. */
export const PRIVATE_RANGES: readonly string[] = Object.freeze([
  '192.168.0.0/16',
  '172.16.0.0/12',
  '10.0.0.0/8',
  '127.0.0.1/8',
  'fd00::/8',
  '::1',
]);
