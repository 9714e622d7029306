// reloadPage fetches the page anew, past what the worker keeps.
export async function reloadPage(): Promise<void> {
  const worker = await navigator.serviceWorker?.getRegistration().catch(() => undefined);
  await worker?.update().catch(() => {});
  location.reload();
}
