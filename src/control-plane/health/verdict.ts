/**
 * The opinion of one check about one server. PURE. Thresholds count *consecutive* results: `fall`
 * failures in a row take it down, `rise` passes in a row bring it back, and each result sets the
 * opposite count to zero. A neutral result (trouble on our side) changes nothing.
 */
export type Verdict = 'up' | 'down' | 'initial';

export type Outcome = 'pass' | 'fail' | 'neutral';

export interface VerdictState {
  readonly verdict: Verdict;
  /** Results in a row, up to now; one of the two is always 0. */
  readonly passes: number;
  readonly fails: number;
}

/** Both at least 1. */
export interface Thresholds {
  readonly rise: number;
  readonly fall: number;
}

/** What is known of the server when a check of it begins. */
export interface Beginning {
  /** `health_initial`; null = the rules below. */
  readonly configured: 'up' | 'down' | null;
  /** No configuration was in force before: the process starts. */
  readonly processStart: boolean;
  /** The server has been in service without any check speaking against it; only this check is new. */
  readonly inService: boolean;
}

/**
 * Up at process start, because affinity must survive a restart; up for a server in service whose check
 * was changed, because a reload must not move its clients; not proven for everything that is new.
 */
export function firstVerdict(beginning: Beginning): VerdictState {
  const trusted = beginning.processStart || beginning.inService;
  return { verdict: beginning.configured ?? (trusted ? 'up' : 'initial'), passes: 0, fails: 0 };
}

/** The state after one more result; the same object when nothing changed. One result leaves `initial`. */
export function judge(state: VerdictState, outcome: Outcome, thresholds: Thresholds): VerdictState {
  switch (outcome) {
    case 'neutral':
      return state;
    case 'pass': {
      const passes = state.passes + 1;
      const rises = state.verdict === 'initial' || passes >= thresholds.rise;
      return { verdict: rises ? 'up' : state.verdict, passes, fails: 0 };
    }
    case 'fail': {
      const fails = state.fails + 1;
      const falls = state.verdict === 'initial' || fails >= thresholds.fall;
      return { verdict: falls ? 'down' : state.verdict, passes: 0, fails };
    }
  }
}
