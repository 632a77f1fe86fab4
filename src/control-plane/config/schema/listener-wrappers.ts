/** `listener_wrappers` of a server: what stands between its listeners and HTTP, outermost first. */
import { z } from 'zod';
import type { ProxyHeaderPolicy } from '../../../shared/plan/proxy-header.ts';
import { moduleOf } from './module.ts';
import { ipRange } from './patterns.ts';
import { accept, duration, list, object } from './primitives.ts';

const MAX_TIMEOUT_MS = 300_000;
const POLICIES: Readonly<Record<string, ProxyHeaderPolicy>> = {
  IGNORE: 'ignore',
  USE: 'use',
  REJECT: 'reject',
  REQUIRE: 'require',
  SKIP: 'skip',
};

export type ListenerWrapperConfig = ProxyProtocolWrapperConfig | { readonly wrapper: 'tls' };

export interface ProxyProtocolWrapperConfig {
  readonly wrapper: 'proxy_protocol';
  /** Milliseconds. */
  readonly timeout: number;
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly fallback_policy: ProxyHeaderPolicy;
}

const fallbackPolicy = accept(`a fallback policy: ${Object.keys(POLICIES).join(', ')}`, (value) => {
  return typeof value === 'string' && Object.hasOwn(POLICIES, value.toUpperCase())
    ? POLICIES[value.toUpperCase()]
    : undefined;
});

const proxyProtocol: z.ZodType<ProxyProtocolWrapperConfig> = object({
  wrapper: z.literal('proxy_protocol'),
  timeout: duration(1, MAX_TIMEOUT_MS).default(5000),
  allow: list(ipRange()).default([]),
  deny: list(ipRange()).default([]),
  fallback_policy: fallbackPolicy.default('ignore'),
});

const wrapper = moduleOf<ListenerWrapperConfig>({
  key: 'wrapper',
  noun: 'listener wrapper',
  modules: () => ({ proxy_protocol: proxyProtocol, tls: object({ wrapper: z.literal('tls') }) }),
  notYet: ['http_redirect', 'layer4'],
});

export const listenerWrappersSchema: z.ZodType<readonly ListenerWrapperConfig[]> = list(wrapper).superRefine(
  (wrappers, context) => {
    const names = wrappers.map((one) => one.wrapper);
    const refuse = (at: number, message: string): void => context.addIssue({ code: 'custom', message, path: [at] });
    const twice = names.findIndex((name, index) => names.indexOf(name) < index);
    if (twice >= 0) refuse(twice, `the listener wrapper ${names[twice]!} is there twice: write it once`);
    const header = names.indexOf('proxy_protocol');
    if (names.includes('tls') && header > names.indexOf('tls')) {
      refuse(header, 'proxy_protocol stands behind tls: a PROXY header comes before TLS, so write it before tls');
    }
  },
);
