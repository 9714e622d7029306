// A sheet that comes up under a thumb which was about to tap something else must not take that tap for an answer: for a
// moment after a question appears, nothing in it reacts.

import { useEffect, useRef, useState } from "preact/hooks";

const MOMENT = 400; // ms; a tap that was meant for what was there before lands within 300 ms

export function useGuard(question: string) {
  const [armed, arm] = useState("");
  const pressed = useRef("");
  useEffect(() => {
    const later = setTimeout(() => arm(question), MOMENT);
    return () => clearTimeout(later);
  }, [question]);
  const isArmed = armed === question;
  const guards = {
    onPointerDownCapture: () => void (pressed.current = armed),
    onClickCapture(e: MouseEvent) {
      const byPointer = e.detail > 0; // a key makes a click of none
      if (isArmed && (!byPointer || pressed.current === question)) return;
      e.preventDefault();
      e.stopPropagation();
    },
  };
  return { armed: isArmed, guards };
}
