import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseIp } from '../../shared/net/ip.ts';
import type { Layer4HandlerPlan, Layer4MatcherPlan, Layer4RoutePlan } from '../../shared/plan/layer4.ts';
import { MORE, NO, YES } from './answer.ts';
import { FlowView } from './flow-view.ts';
import { compileSets } from './match/compile.ts';
import { compileRoutes, RouteWalk } from './routes.ts';

const CLIENT = parseIp('192.0.2.7');

function view(bytes: string, final = false): FlowView {
  return new FlowView(CLIENT, Buffer.from(bytes, 'latin1'), final);
}

function http(part: Partial<Extract<Layer4MatcherPlan, { kind: 'http' }>> = {}): Layer4MatcherPlan {
  return { kind: 'http', hosts: [], paths: [], methods: [], ...part };
}

const REQUEST = 'GET /api/x?y HTTP/1.1\r\nHost: www.Example.com:80\r\n\r\n';
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

describe('one matcher', () => {
  const cases: readonly (readonly [name: string, plan: Layer4MatcherPlan, bytes: string, expected: number])[] = [
    ['ssh, nothing yet', { kind: 'ssh' }, '', MORE],
    ['ssh, begun', { kind: 'ssh' }, 'SS', MORE],
    ['ssh', { kind: 'ssh' }, 'SSH-2.0', YES],
    ['no ssh', { kind: 'ssh' }, 'SX', NO],
    ['an address needs no bytes', { kind: 'remote_ip', ranges: ['192.0.2.0/24'] }, '', YES],
    ['another address', { kind: 'remote_ip', ranges: ['10.0.0.0/8'] }, '', NO],
    ['http, nothing yet', http(), '', MORE],
    ['http, a method begun', http(), 'GE', MORE],
    ['http, not whole', http(), REQUEST.slice(0, -1), MORE],
    ['http', http(), REQUEST, YES],
    ['http with a body behind it', http(), `${REQUEST}body`, YES],
    ['no method', http(), '\x16\x03', NO],
    ['a method nobody has', http(), 'X'.repeat(40), NO],
    ['a head that is refused', http(), 'GET / HTTP/1.1\r\n\r\n', NO],
    ['host', http({ hosts: ['*.example.com'] }), REQUEST, YES],
    ['another host', http({ hosts: ['example.com'] }), REQUEST, NO],
    ['path', http({ paths: ['/API/*'] }), REQUEST, YES],
    ['another path', http({ paths: ['/web/*'] }), REQUEST, NO],
    ['method', http({ methods: ['GET', 'HEAD'] }), REQUEST, YES],
    ['another method', http({ methods: ['POST'] }), REQUEST, NO],
    ['HTTP/2', http(), PREFACE, YES],
    ['HTTP/2, begun', http(), PREFACE.slice(0, 9), MORE],
    ['HTTP/2 shows no host', http({ hosts: ['*.example.com'] }), PREFACE, NO],
    ['tls of no ClientHello', { kind: 'tls', sni: [], alpn: [] }, REQUEST, NO],
    ['tls, nothing yet', { kind: 'tls', sni: [], alpn: [] }, '', MORE],
    ['not', { kind: 'not', sets: [[{ kind: 'ssh' }]] }, 'GET', YES],
    ['not, open', { kind: 'not', sets: [[{ kind: 'ssh' }]] }, 'S', MORE],
    ['not of what holds', { kind: 'not', sets: [[{ kind: 'ssh' }]] }, 'SSH-', NO],
  ];
  for (const [name, plan, bytes, expected] of cases) {
    test(name, () => assert.equal(compileSets([[plan]])!(view(bytes)), expected));
  }
});

describe('sets', () => {
  const far: Layer4MatcherPlan = { kind: 'remote_ip', ranges: ['10.0.0.0/8'] };
  const near: Layer4MatcherPlan = { kind: 'remote_ip', ranges: ['192.0.2.0/24'] };
  const ssh: Layer4MatcherPlan = { kind: 'ssh' };

  test('an address that does not fit waits for no bytes', () => {
    assert.equal(compileSets([[ssh, far]])!(view('')), NO);
    assert.equal(compileSets([[ssh, near]])!(view('')), MORE);
    assert.equal(compileSets([[ssh, near]])!(view('SSH-')), YES);
  });

  test('one set that holds is enough, whatever the others wait for', () => {
    assert.equal(compileSets([[ssh], [near]])!(view('')), YES);
    assert.equal(compileSets([[ssh], [far]])!(view('')), MORE);
    assert.equal(compileSets([[ssh], [far]])!(view('x')), NO);
  });

  test('when no more bytes can come, what is open does not hold, and its `not` does', () => {
    assert.equal(compileSets([[ssh]])!(view('SS', true)), NO);
    assert.equal(compileSets([[{ kind: 'not', sets: [[ssh]] }]])!(view('SS', true)), YES);
  });
});

describe('walk', () => {
  const walk = (routes: readonly Layer4RoutePlan[]) => new RouteWalk(compileRoutes(routes, (hash) => hash));
  const proxy = (pool: string): Layer4HandlerPlan => ({ handler: 'proxy', pool, proxyHeaderOn: 'each' });
  const ssh: Layer4RoutePlan = { match: [[{ kind: 'ssh' }]], handle: [proxy('ssh')] };

  test('the first route that holds; one that is open is waited for', () => {
    const routes = walk([ssh, { match: [], handle: [proxy('rest')] }]);
    assert.equal(routes.next(view('S')), 'more');
    const step = routes.next(view('SX'));
    assert.ok(typeof step !== 'string' && step.kind === 'proxy' && step.pool === 'rest');
  });

  test('a subroute chooses among its own, behind what came before it', () => {
    const receive: Layer4HandlerPlan = { handler: 'proxy_protocol', allow: [], timeoutMs: 5000 };
    const routes = walk([{ match: [], handle: [receive, { handler: 'subroute', routes: [ssh] }] }]);
    const first = routes.next(view(''));
    assert.ok(typeof first !== 'string' && first.kind === 'proxy_protocol');
    assert.equal(routes.next(view('')), 'more');
    const last = routes.next(view('SSH-'));
    assert.ok(typeof last !== 'string' && last.kind === 'proxy' && last.pool === 'ssh');
  });

  test('no route, or a route that leads nowhere', () => {
    assert.equal(walk([ssh]).next(view('x')), 'none');
    assert.equal(walk([{ match: [], handle: [] }]).next(view('')), 'none');
  });
});
