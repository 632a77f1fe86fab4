/**
 * Every metric there is. The exposition is built from this table alone, and so is
 * `docs/reference/metrics.md`. Label values come from the config or from the fixed sets named in the
 * help text, never from clients or upstreams, so the number of series depends on the config alone.
 */
import { HTTP_LIMITS, LAYER4_LIMITS } from '../../shared/state-table/layout.ts';

type MetricType = 'counter' | 'gauge' | 'histogram';

export interface MetricDefinition {
  readonly name: string;
  readonly type: MetricType;
  readonly labels: readonly string[];
  readonly help: string;
}

function define(type: MetricType, name: string, labels: readonly string[], help: string): MetricDefinition {
  return Object.freeze({ name, type, labels, help });
}

export type MetricKey =
  | 'upstreamHealthy'
  | 'upstreamActive'
  | 'reloadSuccessful'
  | 'reloadSuccessTime'
  | 'reloads'
  | 'generation'
  | 'ready'
  | 'requests'
  | 'requestDuration'
  | 'requestsActive'
  | 'requestsAborted'
  | 'badRequests'
  | 'limitHits'
  | 'serverTimeouts'
  | 'noUpstream'
  | 'http2SessionErrors'
  | 'accepted'
  | 'bytesIn'
  | 'bytesOut'
  | 'tlsHandshakes'
  | 'certificateExpiry'
  | 'certificateRenewals'
  | 'layer4TlsHandshakes'
  | 'layer4Accepted'
  | 'layer4Active'
  | 'layer4Aborted'
  | 'layer4BadHeaders'
  | 'layer4LimitHits'
  | 'layer4Timeouts'
  | 'layer4NoUpstream'
  | 'layer4BytesIn'
  | 'layer4BytesOut'
  | 'layer4Datagrams'
  | 'upstreamRequests'
  | 'upstreamResponses'
  | 'upstreamFailures'
  | 'upstreamRetries'
  | 'upstreamConnections'
  | 'upstreamDials'
  | 'upstreamBytesSent'
  | 'upstreamBytesReceived'
  | 'affinity'
  | 'affinitySpills'
  | 'upstreamQueued'
  | 'upstreamQueueTimeouts'
  | 'upstreamWaiting'
  | 'upstreamFull'
  | 'upstreamWeight'
  | 'upstreamState'
  | 'passiveFails'
  | 'checkRoundTrip'
  | 'checkJitter'
  | 'checkLoss'
  | 'bestEffort'
  | 'connections'
  | 'tunnels'
  | 'workers'
  | 'workerRestarts'
  | 'buildInfo'
  | 'startTime'
  | 'residentMemory'
  | 'cpu';

/** Metrics by a short key; the order is the order of the exposition. */
export const METRICS: Readonly<Record<MetricKey, MetricDefinition>> = {
  upstreamHealthy: define(
    'gauge',
    'caddy_reverse_proxy_upstreams_healthy',
    ['upstream'],
    'Whether the upstream is healthy (1) or not (0) by its checks, active and passive. The minimum over all pools that name it; drain and maintenance do not count.',
  ),
  upstreamActive: define(
    'gauge',
    'caddy_reverse_proxy_upstreams_requests_active',
    ['upstream'],
    'Requests and tunnels now running on the addresses of the upstream, all pools together.',
  ),
  reloadSuccessful: define(
    'gauge',
    'caddy_config_last_reload_successful',
    [],
    'Whether the last attempt to load a configuration succeeded (1) or failed (0).',
  ),
  reloadSuccessTime: define(
    'gauge',
    'caddy_config_last_reload_success_timestamp_seconds',
    [],
    'Unix time of the last configuration that came into force.',
  ),
  reloads: define(
    'counter',
    'holdfast_config_reloads_total',
    ['result'],
    'Attempts to load a configuration. result is success or failure.',
  ),
  generation: define('gauge', 'holdfast_config_generation', [], 'Number of the generation in force.'),
  ready: define('gauge', 'holdfast_ready', [], 'Whether /health/ready answers 200 (1) or 503 (0).'),

  requests: define(
    'counter',
    'holdfast_http_requests_total',
    ['server', 'code'],
    'Responses sent to clients. code is 1xx, 2xx, 3xx, 4xx or 5xx.',
  ),
  requestDuration: define(
    'histogram',
    'holdfast_http_request_duration_seconds',
    ['server'],
    'From the first byte of a request to the last byte of its response.',
  ),
  requestsActive: define('gauge', 'holdfast_http_requests_active', ['server'], 'Requests now running.'),
  requestsAborted: define(
    'counter',
    'holdfast_http_requests_aborted_total',
    ['server'],
    'Requests whose client went away before the end of the response.',
  ),
  badRequests: define(
    'counter',
    'holdfast_http_bad_requests_total',
    ['server'],
    'Requests refused because they were not valid HTTP, and connections reset for their PROXY header.',
  ),
  limitHits: define(
    'counter',
    'holdfast_limit_hits_total',
    ['server', 'limit'],
    `Requests or connections refused, or connections ended, by a limit: ${HTTP_LIMITS.join(', ')}.`,
  ),
  serverTimeouts: define(
    'counter',
    'holdfast_http_client_timeouts_total',
    ['server'],
    'Connections closed because the client did not send or read in time.',
  ),
  noUpstream: define(
    'counter',
    'holdfast_http_no_upstream_total',
    ['server'],
    'Requests answered without a try because no upstream was eligible.',
  ),
  http2SessionErrors: define(
    'counter',
    'holdfast_http2_session_errors_total',
    ['server'],
    'HTTP/2 connections of clients that ended because of an error in the protocol.',
  ),
  accepted: define('counter', 'holdfast_http_connections_accepted_total', ['server'], 'Client connections accepted.'),
  bytesIn: define('counter', 'holdfast_http_received_bytes_total', ['server'], 'Bytes received from clients.'),
  bytesOut: define('counter', 'holdfast_http_sent_bytes_total', ['server'], 'Bytes sent to clients.'),

  tlsHandshakes: define(
    'counter',
    'holdfast_tls_handshakes_total',
    ['server', 'result'],
    'Connections to ports with TLS. result is full or resumed (the handshake was completed), or failed. Only servers with TLS.',
  ),
  certificateExpiry: define(
    'gauge',
    'holdfast_certificate_expiry_timestamp_seconds',
    ['certificate'],
    'Unix time at which a certificate ends. certificate is its file, its folder (the first to end), or the name it was issued for; on_demand: the first to end of those.',
  ),
  certificateRenewals: define(
    'counter',
    'holdfast_certificate_renewals_total',
    ['certificate', 'result'],
    'Certificates that took the place of older ones, read from files or issued. result is success or failure; after a failure the old one serves on.',
  ),

  layer4TlsHandshakes: define(
    'counter',
    'holdfast_layer4_tls_handshakes_total',
    ['server', 'result'],
    'Connections that a tls handler took. result is full or resumed (the handshake was completed), or failed. Only servers with the handler.',
  ),
  layer4Accepted: define(
    'counter',
    'holdfast_layer4_accepted_total',
    ['server'],
    'TCP connections and UDP sessions that a layer 4 server took.',
  ),
  layer4Active: define(
    'gauge',
    'holdfast_layer4_active',
    ['server'],
    'TCP connections and UDP sessions of a layer 4 server that last now.',
  ),
  layer4Aborted: define(
    'counter',
    'holdfast_layer4_aborted_total',
    ['server'],
    'TCP connections that their client reset.',
  ),
  layer4BadHeaders: define(
    'counter',
    'holdfast_layer4_bad_headers_total',
    ['server'],
    'TCP connections reset because proxy_protocol found no valid PROXY header at their begin.',
  ),
  layer4LimitHits: define(
    'counter',
    'holdfast_layer4_limit_hits_total',
    ['server', 'limit'],
    `Connections and sessions refused or ended by a limit: ${LAYER4_LIMITS.join(', ')}.`,
  ),
  layer4Timeouts: define(
    'counter',
    'holdfast_layer4_timeouts_total',
    ['server'],
    'Connections and sessions ended because they were silent for idle_timeout, or told too little within matching_timeout.',
  ),
  layer4NoUpstream: define(
    'counter',
    'holdfast_layer4_no_upstream_total',
    ['server'],
    'Connections and sessions ended without a try because no upstream was eligible.',
  ),
  layer4BytesIn: define('counter', 'holdfast_layer4_received_bytes_total', ['server'], 'Bytes received from clients.'),
  layer4BytesOut: define('counter', 'holdfast_layer4_sent_bytes_total', ['server'], 'Bytes sent to clients.'),
  layer4Datagrams: define(
    'counter',
    'holdfast_layer4_datagrams_total',
    ['server', 'direction'],
    'Datagrams of UDP servers. direction is in (from clients), out (to clients) or dropped (of either side).',
  ),

  upstreamRequests: define(
    'counter',
    'holdfast_upstream_requests_total',
    ['upstream'],
    'Tries sent to the upstream, retries included.',
  ),
  upstreamResponses: define(
    'counter',
    'holdfast_upstream_responses_total',
    ['upstream', 'code'],
    'Responses of the upstream. code is 1xx, 2xx, 3xx, 4xx or 5xx.',
  ),
  upstreamFailures: define(
    'counter',
    'holdfast_upstream_failures_total',
    ['upstream', 'cause'],
    'Failed tries. cause is dial (no connection), broken (connection lost), invalid (not a valid response) or timeout.',
  ),
  upstreamRetries: define(
    'counter',
    'holdfast_upstream_retries_total',
    ['upstream'],
    'Tries that failed on the upstream and went to another one or were repeated.',
  ),
  upstreamConnections: define(
    'gauge',
    'holdfast_upstream_connections_open',
    ['upstream'],
    'Open connections to the upstream, idle ones included.',
  ),
  upstreamDials: define(
    'counter',
    'holdfast_upstream_connections_total',
    ['upstream', 'origin'],
    'Where the connection of a try came from. origin is new (dialled) or reused (idle pool).',
  ),
  upstreamBytesSent: define(
    'counter',
    'holdfast_upstream_sent_bytes_total',
    ['upstream'],
    'Bytes sent to the upstream.',
  ),
  upstreamBytesReceived: define(
    'counter',
    'holdfast_upstream_received_bytes_total',
    ['upstream'],
    'Bytes received from the upstream.',
  ),
  affinity: define(
    'counter',
    'holdfast_upstream_affinity_total',
    ['upstream', 'outcome'],
    'Requests served by the upstream under an affinity policy. outcome is hit (its own client), new (first visit) or moved (its own server was not available).',
  ),
  affinitySpills: define(
    'counter',
    'holdfast_upstream_affinity_spills_total',
    ['upstream'],
    "Requests of the upstream's own clients that balance_factor sent elsewhere. Each breaks affinity.",
  ),
  upstreamQueued: define(
    'counter',
    'holdfast_upstream_queued_total',
    ['upstream'],
    'Requests that waited for a place on the upstream (lb_queue).',
  ),
  upstreamQueueTimeouts: define(
    'counter',
    'holdfast_upstream_queue_timeouts_total',
    ['upstream'],
    'Requests that waited in vain and were answered 503.',
  ),
  upstreamWaiting: define(
    'gauge',
    'holdfast_upstream_queue_depth',
    ['upstream'],
    'Requests that wait for a place on the upstream now.',
  ),
  upstreamFull: define(
    'gauge',
    'holdfast_upstream_full',
    ['pool', 'upstream'],
    'Whether max_requests run on the upstream (1) or fewer (0). Upstreams without a limit are 0.',
  ),
  upstreamWeight: define(
    'gauge',
    'holdfast_upstream_weight',
    ['pool', 'upstream'],
    'Weight of the upstream in a pool.',
  ),
  upstreamState: define(
    'gauge',
    'holdfast_upstream_state',
    ['pool', 'upstream', 'state'],
    '1 for the state the upstream is in, 0 for the others. state is up, down, initial, drain, maint or struck (by passive checks).',
  ),
  passiveFails: define(
    'gauge',
    'holdfast_upstream_passive_fails',
    ['pool', 'upstream'],
    'Failed requests that the passive checks of the pool remember now. Only pools with fail_duration.',
  ),
  checkRoundTrip: define(
    'gauge',
    'holdfast_check_round_trip_seconds',
    ['pool', 'upstream'],
    'Moving average over the passes of the active check. Of several addresses of the upstream the worst; absent until one passed.',
  ),
  checkJitter: define(
    'gauge',
    'holdfast_check_jitter_seconds',
    ['pool', 'upstream'],
    'Smoothed difference between neighbouring round trips of the active check. Of several addresses the worst.',
  ),
  checkLoss: define(
    'gauge',
    'holdfast_check_loss_ratio',
    ['pool', 'upstream'],
    'Share of probes among the last 32 results of the active check that went unanswered. Of several addresses the worst.',
  ),
  bestEffort: define(
    'gauge',
    'holdfast_pool_best_effort',
    ['pool'],
    'Whether every upstream of the pool is down and all of them are tried (1).',
  ),

  connections: define('gauge', 'holdfast_connections_open', [], 'Open client connections.'),
  tunnels: define('gauge', 'holdfast_tunnels_open', [], 'Open tunnels (upgraded connections).'),
  workers: define(
    'gauge',
    'holdfast_workers',
    ['state'],
    'Workers by state: starting, serving, retiring or restarting.',
  ),
  workerRestarts: define(
    'counter',
    'holdfast_worker_restarts_total',
    ['cause'],
    'Workers that were replaced after a fault. cause is crash or hang.',
  ),
  buildInfo: define('gauge', 'holdfast_build_info', ['version', 'node'], 'Always 1; its labels name the version.'),
  startTime: define('gauge', 'process_start_time_seconds', [], 'Unix time at which the process started.'),
  residentMemory: define('gauge', 'process_resident_memory_bytes', [], 'Resident memory of the process.'),
  cpu: define('counter', 'process_cpu_seconds_total', [], 'User and system processor time of the process.'),
};

/** Values of the `code` label, in the order of the response words of the state table. */
export const CODE_CLASSES: readonly string[] = ['1xx', '2xx', '3xx', '4xx', '5xx'];
