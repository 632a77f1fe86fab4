/** `http.request.uri…` and `http.request.orig_uri…`: the target now, and the one that was received. */
import { decodePercent } from '../bytes.ts';
import { queryValues } from '../query.ts';
import type { RequestView } from '../request-view.ts';
import { pathOf, queryOf } from '../target.ts';
import { encodeComponent } from '../value-encoding.ts';
import type { Placeholder } from './placeholder.ts';

type TargetOf = (request: RequestView) => string;

/** `suffix` is what follows `uri` in the name: '', `.path`, `.query.page`. null when there is no such placeholder. */
export function uriPlaceholder(suffix: string, targetOf: TargetOf): Placeholder | null {
  if (Object.hasOwn(FIXED, suffix)) return FIXED[suffix]!(targetOf);
  if (suffix.startsWith('.query.')) return queryValue(suffix.slice('.query.'.length), targetOf);
  if (/^\.path\.\d{1,4}$/.test(suffix)) return pathPart(Number(suffix.slice('.path.'.length)), targetOf);
  return null;
}

/** A part of the path: `cut` gets the whole path, escaped or decoded. */
function ofPath(cut: (path: string) => string): (targetOf: TargetOf) => Placeholder {
  return (targetOf) => ({
    read: (request) => cut(decodePercent(pathOf(targetOf(request)))),
    readRaw: (request) => cut(pathOf(targetOf(request))),
  });
}

function ofQuery(show: (query: string) => string): (targetOf: TargetOf) => Placeholder {
  const make =
    (targetOf: TargetOf): Placeholder['read'] =>
    (request) =>
      show(queryOf(targetOf(request)));
  return (targetOf) => ({ read: make(targetOf), readRaw: make(targetOf), isQuery: true });
}

function escaped(part: (target: string) => string): (targetOf: TargetOf) => Placeholder {
  return (targetOf) => ({ read: (request) => encodeComponent(part(targetOf(request))) });
}

function fileOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function extensionStart(file: string): number {
  const dot = file.lastIndexOf('.');
  return dot < 0 ? file.length : dot;
}

const FIXED: Readonly<Record<string, (targetOf: TargetOf) => Placeholder>> = Object.freeze({
  '': (targetOf: TargetOf): Placeholder => ({ read: targetOf, readRaw: targetOf }),
  _escaped: escaped((target) => target),
  '.path': ofPath((path) => path),
  '.path_escaped': escaped((target) => decodePercent(pathOf(target))),
  '.path.dir': ofPath((path) => path.slice(0, path.lastIndexOf('/') + 1)),
  '.path.file': ofPath(fileOf),
  '.path.file.base': ofPath((path) => fileOf(path).slice(0, extensionStart(fileOf(path)))),
  '.path.file.ext': ofPath((path) => fileOf(path).slice(extensionStart(fileOf(path)))),
  '.query': ofQuery((query) => query),
  '.query_escaped': escaped(queryOf),
  '.prefixed_query': ofQuery((query) => (query === '' ? '' : `?${query}`)),
});

/** Part `index` between slashes, counted from 0. Split before decoding: an escaped slash does not divide. */
function pathPart(index: number, targetOf: TargetOf): Placeholder {
  const readRaw = (request: RequestView): string => pathOf(targetOf(request)).split('/')[index + 1] ?? '';
  return { read: (request) => decodePercent(readRaw(request)), readRaw };
}

function queryValue(key: string, targetOf: TargetOf): Placeholder {
  return { read: (request) => queryValues(queryOf(targetOf(request)), key).join(',') };
}
