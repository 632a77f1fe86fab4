import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkConfig } from '../../../cli/check-config.ts';
import { compileJson } from '../../../../test/support/config-fixtures.ts';
import { adaptCaddyfile } from '../adapt.ts';

/** The lines of a proxy begin at line 6. */
function proxy(lines: string, network: '' | 'udp/' = ''): string {
  return `{\nlayer4 {\n${network}:53 {\nroute {\nproxy ${network}db:53 {\n${lines}\n}\n}\n}\n}\n}\n`;
}

test('what the header says besides addresses', () => {
  const lines = 'proxy_protocol v2 {\nunique_id\ntlv 0xE1 "\\x01vpc-1"\ntlv 238 hex:00ff\nauthority\ncrc32c\n}';
  const { config } = adaptCaddyfile(proxy(lines), { filename: 'Caddyfile', env: {} });
  const { compiled } = compileJson(config);
  const section = compiled.sections.get(compiled.layer4[0]!.section);
  assert.ok(section?.kind === 'layer4');
  const [handler] = section.routes[0]!.handle;
  assert.ok(handler?.handler === 'proxy');
  assert.deepEqual(handler.proxyTlvs, [
    { kind: 'unique_id' },
    { kind: 'fixed', type: 0xe1, value: '\x01vpc-1' },
    { kind: 'fixed', type: 238, value: '\x00\xff' },
    { kind: 'authority' },
    { kind: 'crc32c' },
  ]);
});

describe('faults', () => {
  const cases: readonly (readonly [what: string, text: string, message: RegExp])[] = [
    ['an unknown version', proxy('proxy_protocol v3'), /proxy_protocol: expected 'v1' or 'v2'.*, at Caddyfile:6$/],
    [
      'an unknown word',
      proxy('proxy_protocol v2 {\ncrc32\n}'),
      /unrecognized proxy_protocol option 'crc32' \(did you mean 'crc32c'\?\), at Caddyfile:7$/,
    ],
    ['an argument too many', proxy('proxy_protocol v2 {\ncrc32c on\n}'), /wrong argument count .*, at Caddyfile:7$/],
    ['a word twice', proxy('proxy_protocol v2 {\ncrc32c\ncrc32c\n}'), /crc32c already specified, at Caddyfile:8$/],
    ['a type without value', proxy('proxy_protocol v2 {\ntlv 0xe1\n}'), /wrong argument count .*, at Caddyfile:7$/],
    [
      'a type that is no number',
      proxy('proxy_protocol v2 {\ntlv vpc x\n}'),
      /bad type 'vpc': write a number from 1 to 255, like 0xe1, at Caddyfile:7$/,
    ],
    [
      'a type out of range',
      proxy('proxy_protocol v2 {\ntlv 256 x\n}'),
      /expected crc32c, authority, unique_id, ssl or a number from 1 to 255, but not 3, found 256.*, at Caddyfile:7$/,
    ],
    [
      'a checksum of somebody else',
      proxy('proxy_protocol v2 {\ntlv 3 abcd\n}'),
      /but not 3, found 3.*, at Caddyfile:7$/,
    ],
    [
      'a broken escape',
      proxy('proxy_protocol v2 {\ntlv 0xe1 hex:0\n}'),
      /expected 1 to 1024 bytes as text .*, at Caddyfile:7$/,
    ],
    [
      'version 1',
      proxy('proxy_protocol v1 {\ncrc32c\n}'),
      /TLVs stand in a PROXY v2 header of a TCP connection: write proxy_protocol v2, at Caddyfile:/,
    ],
    [
      'UDP',
      proxy('proxy_protocol v2 {\ncrc32c\n}', 'udp/'),
      /TLVs stand in a PROXY v2 header of a TCP connection: leave them out over UDP, at Caddyfile:/,
    ],
  ];
  for (const [what, text, message] of cases) {
    test(what, () =>
      assert.throws(() => checkConfig({ text, adapter: 'caddyfile', filename: 'Caddyfile' }, {}), message),
    );
  }
});
