export const answer = {};
