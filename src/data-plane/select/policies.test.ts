import { COOKIE, IP_HASH, policyContract } from './policy.contract.ts';

policyContract('random', { policy: 'random' }, false);
policyContract('least_conn', { policy: 'least_conn' }, false);
policyContract('round_robin', { policy: 'round_robin' }, false);
policyContract('first', { policy: 'first' }, true);
policyContract('ip_hash', IP_HASH, true);
policyContract('ip_hash on_failure all', { ...IP_HASH, onFailure: 'all' }, true);
policyContract('ip_hash mapping rendezvous', { ...IP_HASH, mapping: 'rendezvous' }, true);
policyContract('ip_hash with a seed', { ...IP_HASH, seed: 7 }, true);
policyContract('cookie', COOKIE, false);
policyContract('cookie format caddy', { ...COOKIE, format: 'caddy' }, false);
policyContract('cookie fallback ip_hash', { ...COOKIE, fallback: IP_HASH }, true);
