import { t } from "../../i18n";
import type { Plan } from "../../wire/types";
import { Icon } from "./Icon";
import { inert } from "./inert";

const pictures = { pending: "stopped", inProgress: "fold", completed: "done" } as const;

export function Todos({ items }: { items: Plan["items"] }) {
  return (
    <ol class="todos">
      {items.map((item) => (
        <li class={item.status} key={item.id} dir="auto">
          <Icon of={pictures[item.status]} />
          <span class="unseen">{t(`rows.todo.${item.status}`)}</span>
          <span>{inert(item.content.slice(0, 1000))}</span>
        </li>
      ))}
    </ol>
  );
}
