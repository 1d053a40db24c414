/* What C++ has for threads, where there are none: the toolchain's library leaves it out. */
#ifndef PROOFBOX_NO_THREADS_H
#define PROOFBOX_NO_THREADS_H
#include <condition_variable>
#include <mutex>
#include <thread>
namespace std {
class mutex {
public:
    void lock() {}
    bool try_lock() { return true; }
    void unlock() {}
};
class recursive_mutex : public mutex {};
/* A thread that has done its work when it is made. */
class thread {
public:
    thread() = default;
    template <class Function, class... Arguments> explicit thread(Function &&function, Arguments &&...arguments) {
        invoke(forward<Function>(function), forward<Arguments>(arguments)...);
    }
    void join() {}
    void detach() {}
    bool joinable() const { return false; }
    static unsigned hardware_concurrency() { return 1; }
};
namespace this_thread {
inline void yield() {}
} // namespace this_thread
class condition_variable {
public:
    void notify_one() {}
    void notify_all() {}
    template <class... Arguments> void wait(Arguments &&...) {}
};
} // namespace std
#endif
