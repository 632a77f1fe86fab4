/** `http.error…`: what error routes know of the error they answer. */
import { reasonOf } from '../../http1/reasons.ts';
import type { RequestView } from '../request-view.ts';
import type { Placeholder, Read } from './placeholder.ts';

const ID_LENGTH = 9;

const FIXED: Readonly<Record<string, Read>> = Object.freeze({
  'http.error': (request: RequestView) => request.notes?.error?.message ?? '',
  'http.error.message': (request: RequestView) => request.notes?.error?.message ?? '',
  'http.error.status_code': (request: RequestView) => String(request.notes?.error?.status ?? ''),
  'http.error.status_text': (request: RequestView) => {
    const error = request.notes?.error ?? null;
    return error === null ? '' : reasonOf(error.status);
  },
  'http.error.id': (request: RequestView) =>
    (request.notes?.error ?? null) === null ? '' : request.uuid().replaceAll('-', '').slice(0, ID_LENGTH),
  // Caddy names the function that failed; here nothing inside has a name for the outside.
  'http.error.trace': () => '',
});

/** null when the name is not one of these. Empty outside of error routes. */
export function errorPlaceholder(name: string): Placeholder | null {
  return Object.hasOwn(FIXED, name) ? { read: FIXED[name]! } : null;
}
