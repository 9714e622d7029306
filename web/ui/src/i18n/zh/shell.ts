export const shell = {
  "app.name": "hub",
};
