/** What the documents say is what the code does: configs, words, commands, links. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { checkConfig } from '../../src/cli/check-config.ts';
import { deriveClient } from '../../src/data-plane/client-ip/derive.ts';
import { compilePrefixes } from '../../src/shared/net/cidr.ts';
import { parseIp } from '../../src/shared/net/ip.ts';
import { REASONS } from '../../src/control-plane/health/reasons.ts';
import { ROOT, anchorsOf, blocksOf, codeSpans, proseOf, readDoc, readDocs, sectionOf, tableRows } from './markdown.ts';

const DOCS = readDocs();

test('there are documents with Caddyfiles to check', () => {
  const configs = DOCS.flatMap(blocksOf).filter(({ language }) => language === 'caddyfile');
  assert.ok(configs.length >= 10, `${configs.length} found`);
});

for (const block of DOCS.flatMap(blocksOf)) {
  if (block.language !== 'caddyfile') continue;
  test(`the Caddyfile in ${block.path}:${block.line} is valid`, () => {
    const request = { text: block.text, adapter: 'caddyfile', filename: join(ROOT, block.path) } as const;
    assert.doesNotThrow(() => checkConfig(request, {}));
  });
}

test('the troubleshooting page lists every reason with its cause and remedy', () => {
  const rows = tableRows(sectionOf(readDoc('docs/guide/troubleshooting.md'), 'Reasons of health checks'));
  assert.deepEqual(
    rows,
    REASONS.map(({ word, cause, remedy }) => [`\`${word}\``, cause, remedy]),
  );
});

test('the examples of client addresses come out as the page says', () => {
  const rows = tableRows(readDoc('docs/guide/client-address.md'));
  const trusted = compilePrefixes(['10.0.0.0/24']);
  assert.ok(rows.length > 0);
  for (const [peer = '', list = '', told = ''] of rows) {
    const [client] = told.split(' ');
    assert.equal(deriveClient(parseIp(peer), trusted, codeSpans(list)[0] ?? '')?.text, client, `${peer} ${list}`);
  }
});

for (const { path, text } of DOCS) {
  test(`links in ${path} lead somewhere`, () => {
    for (const [, target = ''] of proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [file = '', anchor = ''] = target.split('#');
      const to = file === '' ? path : normalize(join(dirname(path), file));
      assert.ok(existsSync(join(ROOT, to)), `${target} names no file`);
      if (anchor !== '') assert.ok(anchorsOf(readDoc(to)).has(anchor), `${target} names no heading`);
    }
  });
}

const COMMANDS = [
  'run',
  'adapt',
  'validate',
  'reload',
  'stop',
  'fmt',
  'hash',
  'check',
  'explain',
  'simulate',
  'demo',
  'trust',
  'version',
  'help',
];

test('documents name only commands that exist', () => {
  for (const doc of DOCS) {
    const shell = blocksOf(doc).filter(({ language }) => language === 'sh' || language === 'console');
    for (const text of [...shell.map((block) => block.text), ...codeSpans(proseOf(doc.text))]) {
      for (const [, command = ''] of text.matchAll(/(?:^|\s)(?:npx )?holdfast ([a-z]+)\b/g)) {
        assert.ok(COMMANDS.includes(command), `${doc.path}: holdfast ${command}`);
      }
    }
  }
});
