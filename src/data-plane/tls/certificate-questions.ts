/** Certificates that the control plane is asked for while a client waits. Clients that want the same share a question. */
import type { CertificatePlan } from '../../shared/plan/tls.ts';

/** Of clients that wait; what comes on top is refused. */
const MAX_WAITING = 1000;

/** `certificate`: of a challenge; null for every other name, whose certificate has come before the answer, if any. */
type Answered = (certificate: CertificatePlan | null) => void;

interface Question {
  readonly key: string;
  readonly waiting: Answered[];
}

export class CertificateQuestions {
  readonly #post: (id: number, name: string, challenge: boolean) => void;
  readonly #byId = new Map<number, Question>();
  readonly #idOf = new Map<string, number>();
  #nextId = 0;
  #waiting = 0;

  constructor(post: (id: number, name: string, challenge: boolean) => void) {
    this.#post = post;
  }

  /** False = too many wait; `answered` is not called then, else at most once. */
  ask(name: string, challenge: boolean, answered: Answered): boolean {
    if (this.#waiting >= MAX_WAITING) return false;
    this.#waiting += 1;
    const key = `${challenge ? 'challenge' : 'name'} ${name}`;
    const known = this.#byId.get(this.#idOf.get(key) ?? -1);
    if (known !== undefined) {
      known.waiting.push(answered);
      return true;
    }
    this.#nextId += 1;
    this.#byId.set(this.#nextId, { key, waiting: [answered] });
    this.#idOf.set(key, this.#nextId);
    this.#post(this.#nextId, name, challenge);
    return true;
  }

  answered(id: number, certificate: CertificatePlan | null): void {
    const question = this.#byId.get(id);
    if (question === undefined) return;
    this.#byId.delete(id);
    this.#idOf.delete(question.key);
    this.#waiting -= question.waiting.length;
    for (const answered of question.waiting) answered(certificate);
  }
}
