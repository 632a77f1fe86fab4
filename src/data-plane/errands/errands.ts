/** What requests have to wait for besides their upstream. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../shared/clock.ts';
import type { WorkerMessage } from '../../shared/messages.ts';
import type { Errand } from '../route/wait.ts';
import { ChallengeQuestions } from './challenge-questions.ts';
import { Derivations, type DerivedStore } from './derivations.ts';
import { MetricsQuestions } from './metrics-questions.ts';
import { openHashThread } from './open-hash-thread.ts';
import { PasswordChecks, type Done } from './password-checks.ts';

const SECRET_BYTES = 32;

export interface ErrandsDeps {
  readonly name: string;
  readonly clock: Clock;
  post(message: WorkerMessage): void;
  readonly pools: DerivedStore;
}

export class Errands {
  readonly #passwords: PasswordChecks;
  readonly #metrics: MetricsQuestions;
  readonly #challenges: ChallengeQuestions;

  readonly derivations: Derivations;

  constructor({ name, clock, post, pools }: ErrandsDeps) {
    this.derivations = new Derivations({ clock, store: pools, post });
    this.#passwords = new PasswordChecks({
      clock,
      secret: randomBytes(SECRET_BYTES),
      open: (user) => openHashThread(name, user),
      onLost: (why) => {
        const message = 'the thread that checks passwords ended; the next request opens another one';
        post({ type: 'log', level: 'error', message, fields: { worker: name, why } });
      },
    });
    this.#metrics = new MetricsQuestions(clock, (id) => post({ type: 'metrics-wanted', id }));
    this.#challenges = new ChallengeQuestions(clock, (id, token) => post({ type: 'challenge-wanted', id, token }));
  }

  /** Calls `done` exactly once, at once when the result is known. */
  run(errand: Errand, done: Done): void {
    if (errand.kind === 'password') this.#passwords.check(errand, done);
    else if (errand.kind === 'derive') this.derivations.ask(errand, done);
    else if (errand.kind === 'challenge') this.#challenges.ask(errand.token, done);
    else this.#metrics.ask(done);
  }

  metricsAnswered(id: number, text: string | null): void {
    this.#metrics.answered(id, text);
  }

  challengeAnswered(id: number, text: string | null): void {
    this.#challenges.answered(id, text);
  }
}
