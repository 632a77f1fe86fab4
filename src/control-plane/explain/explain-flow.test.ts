import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { checkConfig } from '../../cli/check-config.ts';
import { PlannedConfig } from '../../cli/planned-config.ts';
import { quicLong } from '../../../test/support/quic-datagrams.ts';
import { readClientHello } from '../../data-plane/layer4/match/client-hello.ts';
import { describePlace } from '../config/positions.ts';
import { explainFlow } from './explain-flow.ts';
import type { FlowExplanation, ProxyExplanation } from './explanation.ts';
import type { FlowQuestion } from './flow-question.ts';
import { helloBytes } from './hello-bytes.ts';

const CONFIG = `{
  local_certs
  layer4 {
    :8443 {
      @shop tls {
        sni *.shop.example
        alpn h2
      }
      @office remote_ip 10.0.0.0/8
      @web {
        http host www.example
      }
      route @shop {
        proxy shop-1:443 shop-2:443 shop-3:443 {
          lb_policy source_hash
        }
      }
      route @office {
        echo
      }
      route @web {
        close
      }
    }
    :9443 {
      @secure tls sni mail.example
      route @secure {
        tls
        subroute {
          @web http
          route @web {
            close
          }
          route {
            proxy mail-1:143
          }
        }
      }
    }
    192.0.2.9:3306 {
      route {
        proxy_protocol {
          allow 10.0.0.0/8
        }
        proxy db-1:3306 db-2:3306 db-3:3306 {
          lb_policy tuple_hash
        }
      }
    }
    udp/:443 {
      route {
        proxy udp/quic-1:443 udp/quic-2:443 udp/quic-3:443 {
          lb_policy quic_cid
        }
      }
    }
  }
}
`;

function ask(question: Partial<FlowQuestion> & { readonly address: string }, down: string[] = []): FlowExplanation {
  const { compiled, positions } = checkConfig({ text: CONFIG, adapter: 'caddyfile', filename: 'Caddyfile' }, {});
  const planned = new PlannedConfig(compiled, down);
  return explainFlow(
    { peer: '203.0.113.5', ...question },
    {
      compiled,
      bound: new Map(),
      seed: 1,
      poolOf: (hash) => planned.pool(hash),
      place: (path) => describePlace(positions, path),
    },
  );
}

function proxyOf({ outcome }: FlowExplanation): ProxyExplanation {
  assert.equal(outcome.kind, 'proxy');
  return outcome.proxy;
}

describe('explaining a connection', () => {
  test('tells which routes were asked, what they said, and where they stand', () => {
    const { routes, outcome } = ask({
      address: 'tcp/:8443',
      firstBytes: Buffer.from('GET / HTTP/1.1\r\nHost: www.example\r\n\r\n').toString('hex'),
    });
    assert.deepEqual(
      routes.map(({ answer }) => answer),
      ['no', 'no', 'yes'],
    );
    assert.match(routes[0]!.matched, /^tls .*\*\.shop\.example/);
    assert.match(routes[1]!.matched, /^remote_ip 10\.0\.0\.0\/8$/);
    assert.match(routes[2]!.place, /^Caddyfile:\d+$/);
    assert.deepEqual(outcome, { kind: 'close' });
  });

  test('a server name and ALPN names become the ClientHello of a client', () => {
    assert.deepEqual(readClientHello(helloBytes('a.shop.example', ['h2', 'http/1.1'])), {
      serverName: 'a.shop.example',
      alpn: ['h2', 'http/1.1'],
    });
    assert.deepEqual(readClientHello(helloBytes('', [])), { serverName: '', alpn: [] });
    const told = ask({ address: 'tcp/:8443', sni: 'a.shop.example', alpn: ['h2'] });
    assert.equal(told.routes.length, 1);
    const proxy = proxyOf(told);
    assert.equal(proxy.policy, 'source_hash');
    assert.match(proxy.steps.join('\n'), /place \d+ of 65537 belongs to upstream/);
    assert.equal(ask({ address: 'tcp/:8443', sni: 'other.example', alpn: ['h2'] }).outcome.kind, 'none');
  });

  test('what nobody said is taken for silence, and said to be so', () => {
    const told = ask({ address: 'tcp/:8443', peer: '10.1.2.3' });
    assert.deepEqual(told.outcome, { kind: 'echo' });
    assert.match(told.assumed.join(), /says nothing until matching_timeout/);
    assert.deepEqual(ask({ address: 'tcp/:8443' }).outcome, { kind: 'none' });
  });

  test('what is said inside of TLS that ends here is not known, and said to be so', () => {
    const { routes, assumed, outcome } = ask({ address: 'tcp/:9443', sni: 'mail.example' });
    assert.deepEqual(
      routes.map(({ answer }) => answer),
      ['yes', 'no', 'yes'],
    );
    assert.match(assumed[0]!, /TLS is ended here/);
    assert.match(assumed[1]!, /says nothing until matching_timeout/);
    assert.equal(outcome.kind, 'proxy');
  });

  test('the port of the peer counts for tuple_hash, and a server that is down is passed over', () => {
    const picks = new Set<number>();
    for (let port = 4000; port < 4030; port += 1) {
      const told = proxyOf(ask({ address: 'tcp/192.0.2.9:3306', peer: `203.0.113.5:${port}` }));
      picks.add(told.picked!.position);
      const without = proxyOf(
        ask({ address: 'tcp/192.0.2.9:3306', peer: `203.0.113.5:${port}` }, [told.picked!.upstream]),
      );
      assert.equal(without.picked!.upstream, told.next[0]);
      assert.equal(without.members[told.picked!.position]!.state, 'down');
    }
    assert.equal(picks.size, 3);
  });

  test('the PROXY header of a peer that sends one is assumed to name it', () => {
    assert.match(ask({ address: 'tcp/:3306', peer: '10.0.0.9' }).assumed.join(), /PROXY header/);
    assert.deepEqual(ask({ address: 'tcp/:3306' }).assumed, []);
  });

  test('the id in a first datagram decides for quic_cid, wherever it comes from', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 8, maxLength: 20 }), fc.ipV4(), (bytes, peer) => {
        const firstBytes = quicLong(Buffer.from(bytes), Buffer.alloc(4)).toString('hex');
        const one = proxyOf(ask({ address: 'udp/:443', firstBytes, peer }));
        const other = proxyOf(ask({ address: 'udp/:443', firstBytes, peer: '192.0.2.200' }));
        assert.equal(one.picked!.position, other.picked!.position);
      }),
      { numRuns: 10 },
    );
  });

  test('what no client could ask is refused with its reason', () => {
    const refused = (question: Partial<FlowQuestion> & { readonly address: string }, why: RegExp): void => {
      assert.throws(() => ask(question), { name: 'QuestionError', message: why });
    };
    refused({ address: 'tcp/' }, /no address of a listener/);
    refused({ address: 'tcp/:99999' }, /no address of a listener/);
    refused({ address: 'tcp/:53' }, /no layer4 server listens on tcp\/.*there is tcp\/.*8443/);
    refused({ address: 'tcp/192.0.2.8:3306' }, /no layer4 server listens on tcp\/192\.0\.2\.8:3306/);
    refused({ address: 'udp/:3306' }, /there is udp\//);
    refused({ address: 'tcp/:3306', peer: 'me' }, /neither an IP address/);
    refused({ address: 'tcp/:3306', firstBytes: 'abc' }, /hexadecimal/);
    refused({ address: 'tcp/:3306', firstBytes: '00', sni: 'a' }, /either given/);
    refused({ address: 'tcp/:3306', alpn: ['x'.repeat(256)] }, /no name that a ClientHello can hold/);
  });
});
