export {};
void BUILD;
void SHELL;
