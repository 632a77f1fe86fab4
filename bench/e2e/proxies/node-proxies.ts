import { beside } from '../bench.ts';
import type { ProxyKind } from './proxy.ts';

function nodeProxy(name: string, script: string): ProxyKind {
  return {
    name,
    missing: () => '',
    plan: (bench, port, _adminPort, backends) => ({
      command: process.execPath,
      args: [beside(import.meta.url, script), String(port), ...backends.map(String)],
      cores: bench.proxyCores,
    }),
  };
}

/** What one writes with `node:http` in an afternoon. */
export const nodeHttp: ProxyKind = nodeProxy('node-http', 'node-http-server.ts');
/** The most used proxy library of Node. */
export const httpProxy: ProxyKind = nodeProxy('http-proxy', 'http-proxy-server.ts');
