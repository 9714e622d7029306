export const rows = {};
