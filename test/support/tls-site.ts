/** One site `a.test` over HTTPS for a test, with a certificate from files of an authority of the test's own. */
import type { TestContext } from 'node:test';
import type { ConnectionOptions } from 'node:tls';
import type { BalancerOptions } from '../../src/index.ts';
import { startBalancer, type TestBalancer } from './balance.ts';
import { TestAuthority, type LeafFiles } from './certificates.ts';

export interface TlsSiteOptions {
  /** Lines of the `tls` block; ROOT is the file of the authority. */
  readonly tls?: string;
  /** Lines of the site; `respond ok`. */
  readonly body?: string;
  /** Lines of the global block. */
  readonly globals?: string;
}

export interface TlsSite {
  readonly balancer: TestBalancer;
  readonly port: number;
  readonly authority: TestAuthority;
  readonly leaf: LeafFiles;
  /** Of a client that trusts the authority. */
  readonly trusting: ConnectionOptions;
  /** What `reload` takes to change it. */
  config(options?: TlsSiteOptions): string;
}

export async function startTlsSite(
  t: TestContext,
  options: TlsSiteOptions = {},
  balancerOptions: Partial<BalancerOptions> = {},
): Promise<TlsSite> {
  const authority = await TestAuthority.create(t);
  const leaf = await authority.leaf('a', ['a.test']);
  const config = (changed: TlsSiteOptions = options): string => tlsSiteConfig(authority, leaf, changed);
  const balancer = await startBalancer(t, config(), balancerOptions);
  const trusting = { ca: authority.root.certificate, servername: 'a.test' };
  return { balancer, port: balancer.port, authority, leaf, trusting, config };
}

/** The Caddyfile: no admin port, no redirects from port 80. */
export function tlsSiteConfig(authority: TestAuthority, leaf: LeafFiles, options: TlsSiteOptions): string {
  const { tls = '', body = '\trespond ok', globals = '' } = options;
  const files = `${leaf.certificateFile} ${leaf.keyFile}`;
  return (
    `{\n\tadmin off\n\tauto_https disable_redirects\n${globals}\n}\n` +
    `https://a.test:0 {\n\tbind 127.0.0.1\n\ttls ${files} {\n${tls.replaceAll('ROOT', authority.rootFile)}\n\t}\n${body}\n}\n`
  );
}
