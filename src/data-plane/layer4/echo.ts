import type { RawSide, TunnelEnd } from '../proxy/sides.ts';

/** Sends a side what it reads. */
export class Echo implements TunnelEnd {
  readonly #side: RawSide;

  constructor(side: RawSide) {
    this.#side = side;
  }

  onTunnelData(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    return this.#side.writeRaw(buffer, start, end, owned);
  }

  onTunnelFin(): void {
    this.#side.finishRaw();
  }

  onTunnelReset(): void {}

  onTunnelDrain(): void {
    this.#side.resume();
  }
}
