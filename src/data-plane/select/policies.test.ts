import { COOKIE, IP_HASH, policyContract, SOURCE_HASH } from './policy.contract.ts';

/** Each run makes tables of 65,537 places. */
const TABLE_RUNS = 15;

policyContract('random', { policy: 'random' }, false);
policyContract('least_conn', { policy: 'least_conn' }, false);
policyContract('weighted_least_conn', { policy: 'weighted_least_conn' }, false);
policyContract('source_hash', SOURCE_HASH, true, TABLE_RUNS);
policyContract('source_hash with a seed', { ...SOURCE_HASH, seed: 7 }, true, TABLE_RUNS);
policyContract('tuple_hash', { policy: 'tuple_hash' }, true, TABLE_RUNS);
policyContract('quic_cid', { policy: 'quic_cid' }, true, TABLE_RUNS);
policyContract('round_robin', { policy: 'round_robin' }, false);
policyContract('first', { policy: 'first' }, true);
policyContract('ip_hash', IP_HASH, true);
policyContract('ip_hash on_failure all', { ...IP_HASH, onFailure: 'all' }, true);
policyContract('ip_hash mapping rendezvous', { ...IP_HASH, mapping: 'rendezvous' }, true);
policyContract('ip_hash with a seed', { ...IP_HASH, seed: 7 }, true);
policyContract('cookie', COOKIE, false);
policyContract('cookie format caddy', { ...COOKIE, format: 'caddy' }, false);
policyContract('cookie fallback ip_hash', { ...COOKIE, fallback: IP_HASH }, true);
policyContract('ip_hash balance_factor', { ...IP_HASH, balanceFactor: 1.25 }, false);
policyContract(
  'ip_hash mapping rendezvous balance_factor',
  { ...IP_HASH, mapping: 'rendezvous', balanceFactor: 1 },
  false,
);
policyContract('random_choose 2', { policy: 'random_choose', choose: 2 }, false);
policyContract('random_choose 5', { policy: 'random_choose', choose: 5 }, false);
policyContract('weighted_round_robin', { policy: 'weighted_round_robin' }, false);
policyContract('uri_hash', { policy: 'uri_hash' }, true);
policyContract('header', { policy: 'header', field: 'X-User', fallback: { policy: 'random' } }, false);
policyContract('header fallback ip_hash', { policy: 'header', field: 'X-User', fallback: IP_HASH }, true);
policyContract('query', { policy: 'query', key: 'user', fallback: { policy: 'first' } }, true);
policyContract('header fallback cookie', { policy: 'header', field: 'X-User', fallback: COOKIE }, false);
policyContract(
  'cookie fallback query',
  { ...COOKIE, fallback: { policy: 'query', key: 'user', fallback: IP_HASH } },
  true,
);
