import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { requestOf, rewrite, type RequestFacts } from '../../../test/support/route-fixtures.ts';
import { ConfigError } from '../../shared/config-error.ts';
import type { RewritePlan } from '../../shared/plan/types.ts';
import { NO_FACTS } from './placeholder/placeholder.ts';
import { compileRewrite } from './rewrite.ts';

function rewritten(rules: Partial<RewritePlan>, target: string, facts: RequestFacts = {}): string {
  const request = requestOf({ target, ...facts });
  request.vars.set('dest', '/n?z=1');
  compileRewrite(rewrite(rules), NO_FACTS)(request);
  return request.target;
}

const ODD_TARGETS: readonly string[] = [
  '/a%2Fb',
  '//a///b//',
  '/a/../b',
  '/%2e%2e/x',
  '/a;p=1',
  '/a?',
  '/a?b?c',
  '/a?x=%zz',
  '/a%00b',
  '/A%c3%a9',
  '/%C3%A9',
  '/a+b%20c',
  '/a|b^c',
  '/?q=[]{}',
  '/caf\u00c3\u00a9',
  `/?${'x'.repeat(8192)}`,
  '*',
  '/',
];

describe('what no rule names stays byte for byte', () => {
  for (const target of ODD_TARGETS) {
    test(`${target.slice(0, 20)} passes a prefix, suffix and substring that are not in it`, () => {
      const rules = {
        stripPathPrefix: '/none',
        stripPathSuffix: '.none',
        uriSubstring: [{ find: 'none', replace: 'x', limit: 0 }],
      };
      assert.equal(rewritten(rules, target), target);
      assert.equal(rewritten({ method: 'POST' }, target), target);
    });
  }

  // Left out: `*` is no path, and `/pre/%2e%2e/x` is not below `/pre`.
  for (const target of ODD_TARGETS.filter((odd) => odd !== '*' && odd !== '/%2e%2e/x')) {
    test(`${target.slice(0, 20)} passes behind a prefix that is cut`, () => {
      assert.equal(rewritten({ stripPathPrefix: '/pre' }, `/pre${target}`), target);
    });
  }

  test('any path without dot segments keeps its tail when its prefix is cut', () => {
    const tail = fc
      .array(fc.constantFrom('/', '%2F', 'a', '%', '%41', '+', ';', '\u00e9', '//'))
      .map((parts) => `/${parts.join('')}`);
    const query = fc.array(fc.constantFrom('?', '&', '=', '%zz', 'b', '/../')).map((parts) => parts.join(''));
    fc.assert(
      fc.property(tail, query, (path, rest) => {
        assert.equal(rewritten({ stripPathPrefix: '/Pre' }, `/pRe${path}?${rest}`), `${path}?${rest}`);
      }),
    );
  });
});

describe('strip_prefix', () => {
  const cases: readonly (readonly [prefix: string, target: string, expected: string])[] = [
    ['/api', '/api/x?q=1', '/x?q=1'],
    ['api', '/api/x', '/x'],
    ['/api', '/api', '/'],
    ['/api', '/API/X', '/X'],
    ['/api', '/apix', '/x'],
    ['/api', '/%61pi/%62', '/%62'],
    ['/a/b', '//a///b//c', '//c'],
    ['/a/b', '/a%2Fb/c', '/c'],
    ['/a%2Fb', '/a%2Fb/c', '/c'],
    ['/a%2Fb', '/a/b/c', '/a/b/c'],
    ['/a', '/a/x/../y', '/x/../y'],
    ['/a', '/b/../a/x%20y', '/x%20y'],
    ['/a', '/a/../a/x', '/x'],
    ['/a', '/a/%2e%2e/a/x', '/x'],
    ['/a', '/a/../b', '/a/../b'],
    ['/a', '/x/a', '/x/a'],
    ['/{http.request.host}', '/example.com/x', '/x'],
  ];
  for (const [stripPathPrefix, target, expected] of cases) {
    test(`${stripPathPrefix} makes ${target} into ${expected}`, () => {
      assert.equal(rewritten({ stripPathPrefix }, target), expected);
    });
  }
});

describe('uri', () => {
  const cases: readonly (readonly [uri: string, target: string, expected: string])[] = [
    ['/new', '/old?a=1', '/new?a=1'],
    ['/new?b=2', '/old?a=1', '/new?b=2'],
    ['/new?', '/old?a=1', '/new'],
    ['?b=2', '/old?a=1', '/old?b=2'],
    ['/x?{http.request.uri.query}&b=2', '/old?a=%2f', '/x?a=%2f&b=2'],
    ['/x?{http.request.uri.query}&b=2', '/old', '/x?b=2'],
    ['{http.vars.dest}', '/old?a=1', '/n?z=1'],
    ['{http.vars.dest}?b=2', '/old?a=1', '/n?b=2'],
    ['/pre{http.request.uri}', '/a%2Fb?q=%20', '/pre/a%2Fb?q=%20'],
    ['/pre{http.request.uri.path}', '/a%2Fb?q', '/pre/a%2Fb?q'],
    ['/i?p={http.request.uri.path}', '/a%2Fb&c', '/i?p=%2Fa%2Fb%26c'],
    ['new page', '/', '/new%20page'],
    ['/é', '/', '/%C3%A9'],
    ['/{http.request.header.X}', '/', '/a%20b%23c%0D%0A'],
  ];
  for (const [uri, target, expected] of cases) {
    test(`${uri} makes ${target} into ${expected}`, () => {
      assert.equal(rewritten({ uri }, target, { fields: ['X', 'a b#c\r\n'] }), expected);
    });
  }

  test('a fragment is an error at load', () => assert.throws(() => rewritten({ uri: '/a#b' }, '/'), ConfigError));

  test('whatever the peer sends, the target stays one word without control characters', () => {
    const bytes = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) });
    fc.assert(
      fc.property(bytes, bytes, (path, field) => {
        const uri =
          '/x{http.request.uri.path}/{http.request.header.X}?k={http.request.header.X}&{http.request.uri.query}';
        // oxlint-disable-next-line no-control-regex
        assert.match(rewritten({ uri }, `/${path}`, { fields: ['X', field] }), /^[^\u0000-\u0020\u007f-\u00ff#]+$/);
      }),
    );
  });
});

describe('other rules', () => {
  test('a suffix is cut from the path only', () => {
    assert.equal(rewritten({ stripPathSuffix: '.html' }, '/a.HTML?b.html'), '/a?b.html');
  });

  test('substrings are replaced in path and query, up to their limit', () => {
    const rule = { find: 'a', replace: 'b', limit: 0 };
    assert.equal(rewritten({ uriSubstring: [rule] }, '/aa%2F?a=a'), '/bb%2F?b=b');
    assert.equal(rewritten({ uriSubstring: [{ ...rule, limit: 1 }] }, '/aa?aa'), '/ba?ba');
    assert.equal(rewritten({ uriSubstring: [{ find: '/a', replace: '?', limit: 0 }] }, '/a/b'), '/%3F/b');
  });

  test('a method is upper case, and one that is no token changes nothing', () => {
    const request = requestOf({ fields: ['X', 'a b'] });
    compileRewrite(rewrite({ method: 'post' }), NO_FACTS)(request);
    assert.equal(request.method, 'POST');
    compileRewrite(rewrite({ method: '{http.request.header.X}' }), NO_FACTS)(request);
    assert.equal(request.method, 'POST');
  });
});
