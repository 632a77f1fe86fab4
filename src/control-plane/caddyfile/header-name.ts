/** `x-foo` → `X-Foo`, as HTTP fields are spelled in the config. A name that is no token stays as it is. */
export function canonicalHeaderName(name: string): string {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return name;
  return name
    .split('-')
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1).toLowerCase())
    .join('-');
}
