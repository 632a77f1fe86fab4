/** Matcher sets of layer-4 routes. */
import type { Layer4MatcherPlan, Layer4MatcherSetPlan } from '../../../shared/plan/layer4.ts';
import type { HttpMatcherConfig, Layer4MatcherSetConfig } from '../../config/schema/layer4/matchers.ts';
import type { Compilation } from '../compilation.ts';

/** Matchers that read the first bytes of a stream. */
const STREAM_MATCHERS = ['tls', 'http', 'ssh'] as const;

const ANY_REQUEST: readonly HttpMatcherConfig[] = Object.freeze([{ host: [], path: [], method: [] }]);

/** `path` is the JSON path of the list of sets. */
export function compileLayer4Matchers(
  run: Compilation,
  path: string,
  sets: readonly Layer4MatcherSetConfig[],
  network: 'tcp' | 'udp',
): Layer4MatcherSetPlan[] {
  return sets.flatMap((set, index) => compileSet(run, `${path}.${index}`, set, network));
}

/** One set, or one for each alternative of `http`. */
function compileSet(
  run: Compilation,
  path: string,
  set: Layer4MatcherSetConfig,
  network: 'tcp' | 'udp',
): Layer4MatcherSetPlan[] {
  const streamed = STREAM_MATCHERS.find((name) => set[name] !== null);
  if (network === 'udp' && streamed !== undefined) {
    run.fail(
      `${path}.${streamed}`,
      `the matcher '${streamed}' reads a TCP stream, and its server listens on UDP: use remote_ip`,
    );
  }
  const common: Layer4MatcherPlan[] = [];
  if (set.remote_ip !== null) common.push({ kind: 'remote_ip', ranges: set.remote_ip.ranges });
  if (set.tls !== null) common.push({ kind: 'tls', sni: lowerCase(set.tls.sni), alpn: set.tls.alpn });
  if (set.ssh !== null) common.push({ kind: 'ssh' });
  if (set.not !== null) common.push({ kind: 'not', sets: compileLayer4Matchers(run, `${path}.not`, set.not, network) });
  if (set.http === null) return [common];
  const alternatives = set.http.length === 0 ? ANY_REQUEST : set.http;
  return alternatives.map((one) => [...common, httpMatcher(one)]);
}

function httpMatcher({ host, path, method }: HttpMatcherConfig): Layer4MatcherPlan {
  return { kind: 'http', hosts: lowerCase(host), paths: path, methods: method };
}

function lowerCase(names: readonly string[]): string[] {
  return names.map((name) => name.toLowerCase());
}
