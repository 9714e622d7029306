// How a person gets in.

export function start(): void {}
