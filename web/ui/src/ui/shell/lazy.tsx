import type { ComponentType } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../../i18n";

// lazy makes a component of one that is loaded when it is first shown.
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const there = useSignal(loaded);
    const failed = useSignal(false);
    const tries = useSignal(0);
    useEffect(() => {
      if (loaded) return;
      failed.value = false;
      load().then((component) => {
        loaded = component;
        there.value = component;
      }, () => (failed.value = true));
    }, [tries.value]);
    const Component = there.value;
    if (Component) return <Component {...props} />;
    if (failed.value) return <p class="empty">{t("page.partMissing")} <button type="button" class="plain" onClick={() => tries.value++}>{t("do.tryAgain")}</button></p>;
    return <p class="empty" role="status">{t("page.loading")}</p>;
  };
}
