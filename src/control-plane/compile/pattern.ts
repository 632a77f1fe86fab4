/**
 * Upstreams with placeholders in their addresses. Such a pool is a *pattern*: it has no members, and each combination of
 * addresses that requests come to makes a pool of its own, *derived* from it, with the same options.
 */
import { ConfigError } from '../../shared/config-error.ts';
import { compileTemplate } from '../../data-plane/route/template.ts';
import type { PoolConfig } from '../config/schema/reverse-proxy.ts';
import type { Compilation } from './compilation.ts';
import type { MemberPattern, PoolSpec } from './compiled.ts';
import { hashContent } from './content-hash.ts';
import { HTTPS_PORT, memberOptions, memberPlan, memberWeights } from './members.ts';
import type { PoolKind } from './pool-kind.ts';
import { readUpstream } from './upstream-address.ts';

/** null = every upstream has an address of its own. `path` is the JSON path of the handler. */
export function compilePattern(
  run: Compilation,
  path: string,
  config: PoolConfig,
  kind: PoolKind,
): MemberPattern[] | null {
  const first = config.upstreams.findIndex(({ dial }) => /[{}]/.test(dial));
  if (first < 0) return null;
  const place = `${path}.upstreams.${first}.dial`;
  if (kind.layer !== 'http') run.notYet(place, 'placeholders in upstreams of layer 4');
  if (config.dynamic_upstreams !== null) run.notYet(place, 'placeholders in upstreams beside dynamic ones');
  if (run.routing.inResponse) run.notYet(place, 'placeholders in upstreams inside of handle_response');
  const weights = memberWeights(run, path, config, kind);
  return config.upstreams.map((upstream, index) => {
    const at = `${path}.upstreams.${index}`;
    checkTemplate(run, `${at}.dial`, upstream.dial);
    const defaultPort = config.transport.tls === null ? undefined : HTTPS_PORT;
    return {
      template: upstream.dial,
      ...(defaultPort === undefined ? {} : { defaultPort }),
      options: memberOptions(run, at, config, upstream, weights[index]),
    };
  });
}

function checkTemplate(run: Compilation, path: string, text: string): void {
  if (/^unix/i.test(text)) run.notYet(path, 'placeholders beside Unix sockets');
  if (/[{}]/.test(text) && !/\{[^{}]+\}/.test(text)) {
    run.fail(path, `'${text}' has a brace, but names no placeholder: write {name}`);
  }
  try {
    compileTemplate(text, 'all', { encoding: 'text' });
  } catch (error) {
    if (error instanceof ConfigError) run.fail(path, error.message);
    throw error;
  }
}

/**
 * The pool that `addresses` (one for each upstream of the pattern) make, or a sentence that says which is none. Clients
 * choose them: a Unix socket, and a port without a host, which is this machine, are none here.
 */
export function derivePool(pattern: PoolSpec, addresses: readonly string[]): PoolSpec | string {
  const members = [];
  for (const [index, { template, defaultPort, options }] of (pattern.pattern ?? []).entries()) {
    const text = addresses[index] ?? '';
    if (/^[^:]*\/|^:|^$/.test(text)) return `'${text}' (${template}) is no host:port`;
    const address = readUpstream(text, defaultPort);
    if (!('member' in address)) return 'fault' in address ? address.fault : `'${text}' is not supported`;
    members.push({ ...address.member, ...options, template });
  }
  const hash = hashContent([pattern.hash, addresses]);
  const { pattern: _, ...rest } = pattern;
  const section = { ...pattern.section, hash, members: members.map(memberPlan) };
  return { ...rest, hash, section, members, derivedFrom: pattern.hash };
}
