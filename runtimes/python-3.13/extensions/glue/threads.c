/* What is done at the end of a thread: there is one, which does not end. */
int __cxa_thread_atexit(void (*destructor)(void *), void *object, void *library) { return 0; }
