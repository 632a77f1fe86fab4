/**
 * Where every word of the state table stands. The only file that knows offsets.
 *
 * The table is a set of fixed-size SharedArrayBuffers, added in chunks (a growable buffer costs 40
 * times more per access). Each chunk holds CHUNK_ROWS rows of one kind: first the Int32 words of all
 * rows, then the Float64 words of all rows. See README.md for who writes what.
 */
export const CHUNK_BITS = 8;
export const CHUNK_ROWS: number = 1 << CHUNK_BITS;
export const CHUNK_MASK: number = CHUNK_ROWS - 1;

/** Kinds of rows. `facts` and `server` exist once per lane (worker); the others once. */
export type RowKind = 'lane' | 'facts' | 'server' | 'slot' | 'check' | 'member' | 'pool';

export interface RowShape {
  /** Int32 words a row. Even, so that the doubles behind them stay aligned. */
  readonly ints: number;
  /** Float64 words a row. */
  readonly doubles: number;
}

export const SHAPES: Readonly<Record<RowKind, RowShape>> = {
  lane: { ints: 16, doubles: 0 },
  facts: { ints: 6, doubles: 24 },
  server: { ints: 4, doubles: 48 },
  slot: { ints: 4, doubles: 1 },
  check: { ints: 4, doubles: 0 },
  member: { ints: 8, doubles: 0 },
  pool: { ints: 16, doubles: 0 },
};

/** lane: one row a worker. A row is a cache line of its own. */
export const LANE_HEARTBEAT = 0;
export const LANE_CONNECTIONS = 1;
export const LANE_EXCHANGES = 2;
export const LANE_TUNNELS = 3;
/** Sockets the acceptor sent to the worker (written by the acceptor), and those that arrived (by the worker). */
export const LANE_HANDED = 4;
export const LANE_TAKEN = 5;
/** 1 once the worker has begun its last act: nothing is to be sent to it. Written by the worker. */
export const LANE_CLOSED = 6;
/** Each has a descriptor, which all workers of the process share. */
export const LANE_UDP_SESSIONS = 7;

/** facts, Int32 under Atomics: exchanges and tunnels now running on the slot. */
export const FACT_IN_FLIGHT = 0;
/** facts, Int32: open upstream connections, idle ones included. */
export const FACT_CONNECTIONS = 1;
/** facts, Int32 under Atomics: requests waiting in a queue because the slot's server is full (`lb_queue`). */
export const FACT_WAITING = 2;
/** facts, Int32 under Atomics: bumped by any worker that left a place on the slot's server for requests waiting in this lane. */
export const FACT_WAKES = 3;
/** facts, Int32 under Atomics: requests waiting for a connection to the slot (`max_conns_per_host`). */
export const FACT_DIALS_WAITING = 4;

/** facts, Float64 totals, one writer (the lane's worker). */
export const FACT_REQUESTS = 0;
/** Five words: responses of class 1xx … 5xx. */
export const FACT_RESPONSES = 1;
export const FACT_DIAL_FAILURES = 6;
export const FACT_BROKEN = 7;
export const FACT_INVALID_RESPONSES = 8;
export const FACT_TIMEOUTS = 9;
export const FACT_RETRIES = 10;
export const FACT_DIALS = 11;
export const FACT_REUSES = 12;
export const FACT_BYTES_SENT = 13;
export const FACT_BYTES_RECEIVED = 14;
/** Affinity outcomes of exchanges served by the slot. */
export const FACT_AFFINITY_HIT = 15;
export const FACT_AFFINITY_NEW = 16;
export const FACT_AFFINITY_MOVED = 17;
/** Requests that waited for the slot's server, and those that waited in vain. */
export const FACT_QUEUED = 18;
export const FACT_QUEUE_TIMEOUTS = 19;
/** Requests that `balance_factor` sent elsewhere although the slot's server was their home. */
export const FACT_SPILLS = 20;

/** server, Float64 totals, one writer. Five words: responses of class 1xx … 5xx. */
export const SERVER_RESPONSES = 0;
export const SERVER_ABORTED = 5;
export const SERVER_BAD_REQUESTS = 6;
export const SERVER_CONNECTIONS_ACCEPTED = 8;
export const SERVER_BYTES_IN = 9;
export const SERVER_BYTES_OUT = 10;
export const SERVER_NO_UPSTREAM = 11;
export const SERVER_TIMEOUTS = 12;
export const SERVER_DURATION_SUM = 13;
export const SERVER_DURATION_COUNT = 14;
/** DURATION_BUCKETS.length + 1 words: requests per latency bucket (not cumulative), the last is +Inf. */
export const SERVER_DURATION_BUCKETS = 16;
/** Layer 4 over UDP: datagrams taken from clients and sent to them, and those that went nowhere. */
export const SERVER_DATAGRAMS_IN = 28;
export const SERVER_DATAGRAMS_OUT = 29;
export const SERVER_DATAGRAMS_DROPPED = 30;
/** TLS handshakes that came to their end, those of them that resumed a session, and those that failed. */
export const SERVER_HANDSHAKES = 44;
export const SERVER_HANDSHAKES_RESUMED = 45;
export const SERVER_HANDSHAKES_FAILED = 46;
/** HTTP/2 connections of clients that ended with an error of the protocol. */
export const SERVER_HTTP2_SESSION_ERRORS = 47;
/** LIMIT_NAMES.length words: messages and connections refused, or connections ended, by each limit. */
export const SERVER_LIMITS = 32;
/** As metrics show them. */
export const LIMIT_NAMES: readonly string[] = [
  'header_bytes',
  'header_fields',
  'request_line',
  'chunk_extensions',
  'trailers',
  'request_body',
  'connections',
  'connections_per_source',
  'requests_per_connection',
  'new_per_second',
  'max_sessions',
  'http2_flood',
];
/** Those that HTTP servers have, and those of layer 4. */
export const HTTP_LIMITS: readonly string[] = [...LIMIT_NAMES.slice(0, 9), 'http2_flood'];
export const LAYER4_LIMITS: readonly string[] = [
  'connections',
  'connections_per_source',
  'new_per_second',
  'max_sessions',
];
/** Places in LIMIT_NAMES. */
export const LIMIT_HEADER_BYTES = 0;
export const LIMIT_HEADER_FIELDS = 1;
export const LIMIT_REQUEST_LINE = 2;
export const LIMIT_CHUNK_EXTENSIONS = 3;
export const LIMIT_TRAILERS = 4;
export const LIMIT_REQUEST_BODY = 5;
export const LIMIT_CONNECTIONS = 6;
export const LIMIT_CONNECTIONS_PER_SOURCE = 7;
export const LIMIT_REQUESTS_PER_CONNECTION = 8;
export const LIMIT_NEW_PER_SECOND = 9;
export const LIMIT_MAX_SESSIONS = 10;
export const LIMIT_HTTP2_FLOOD = 11;
/** Upper bounds in seconds, Caddy's. */
export const DURATION_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** server, Int32 under Atomics: exchanges now running. */
export const SERVER_IN_FLIGHT = 0;
/** server, Int32 under Atomics: open client connections, while the server limits them. */
export const SERVER_CONNECTIONS = 1;
/** server, Int32 under Atomics: connections and sessions begun in the second of SERVER_NEW_SECOND (wall clock), while the server limits them. */
export const SERVER_NEW = 2;
export const SERVER_NEW_SECOND = 3;

/** slot, written by the control plane. */
export const SLOT_ADMIN = 0;
/** slot, Float64: wall-clock milliseconds of the drain deadline, 0 = none. */
export const SLOT_DRAIN_DEADLINE = 0;

/** Values of SLOT_ADMIN. */
export const ADMIN_READY = 0;
export const ADMIN_DRAIN = 1;
export const ADMIN_MAINT = 2;

/** check, written by the control plane. */
export const CHECK_VERDICT = 0;
export const CHECK_REASON = 1;

/** Values of CHECK_VERDICT. A fresh row is UP: affinity must survive a restart. */
export const VERDICT_UP = 0;
export const VERDICT_DOWN = 1;
/** Added by a reload and not proven yet. */
export const VERDICT_INITIAL = 2;

/** member, written by the control plane (passive failures are added by workers). */
export const MEMBER_STATE = 0;
/** Relative within its pool: pools with `slow_start` count in tenths. */
export const MEMBER_WEIGHT = 1;
/** Passive checks, added by workers: failures in a row, or those of the window with `fail_ratio`. */
export const MEMBER_PASSIVE_FAILS = 2;
/** With `fail_ratio`: requests of the window. */
export const MEMBER_PASSIVE_REQUESTS = 3;
/** Wall-clock milliseconds modulo 2^32 of the last failure, or of the window's begin with `fail_ratio`. */
export const MEMBER_PASSIVE_SINCE = 4;
/** Number of the strike against the member, written by the control plane; 0 = none. */
export const MEMBER_STRIKE = 5;

/**
 * Values of MEMBER_STATE. The control plane has folded in checks, names, admin state, weight, the
 * `initial` rule and best effort; a pick compares with MEMBER_ELIGIBLE and nothing else.
 */
export const MEMBER_DOWN = 0;
export const MEMBER_ELIGIBLE = 1;
/** Not proven yet and others are eligible: a passing reason, an affinity cookie stays. */
export const MEMBER_INITIAL = 2;
/** Operator's drain: no new clients, a valid cookie still goes there. */
export const MEMBER_DRAIN = 3;
export const MEMBER_MAINT = 4;
/** Failed its passive checks a moment ago: a passing reason, an affinity cookie stays. */
export const MEMBER_STRUCK = 5;
/** `fail_duration` after a strike: the first request that is picked for it tests it, and the worker writes MEMBER_STRUCK. */
export const MEMBER_HALF_OPEN = 6;
/** A `backup` while others are eligible: no new clients, a valid cookie still goes there. */
export const MEMBER_BACKUP = 7;
/**
 * Not in the table, worked out by a worker: the member would be eligible, but `max_requests` run on it. FULL is a
 * passing reason; with WAIT its own clients may wait in its queue (`lb_queue`).
 */
export const MEMBER_FULL = 8;
export const MEMBER_WAIT = 9;

/** pool. */
export const POOL_CURSOR = 0;
/** Bumped by the control plane after each change of a member word of the pool. */
export const POOL_EPOCH = 1;
/** 1 while all members are down and the pool tries them all. */
export const POOL_BEST_EFFORT = 2;
