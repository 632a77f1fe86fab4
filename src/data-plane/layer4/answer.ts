/** What a matcher can say. MORE = not with the bytes there are. */
export const NO = 0;
export const YES = 1;
export const MORE = 2;

export type Answer = typeof NO | typeof YES | typeof MORE;
