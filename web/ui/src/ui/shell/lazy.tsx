import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "../../i18n";

export type Lazy<P> = ComponentType<P> & { fetch(): void };

// lazy makes a component of one that is loaded when it is first shown, or when fetch is called before.
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): Lazy<P> {
  let loaded: ComponentType<P> | null = null;
  const get = () => load().then((component) => (loaded = component));
  function Late(props: P) {
    const there = useSignal(loaded);
    const failed = useSignal(false);
    const tries = useSignal(0);
    useEffect(() => {
      if (there.value) return;
      failed.value = false;
      get().then((component) => (there.value = component), () => (failed.value = true));
    }, [tries.value]);
    const Component = there.value;
    if (Component) return <Component {...props} />;
    if (failed.value) return <p class="empty" role="alert">{t("page.partMissing")} <button type="button" class="plain" onClick={() => tries.value++}>{t("do.tryAgain")}</button></p>;
    return <p class="empty" role="status">{t("page.loading")}</p>;
  }
  return Object.assign(Late, { fetch: () => void get().catch(() => {}) });
}
