/* What C++ has for files, which the toolchain's library leaves out: none can be opened. */
#ifndef PROOFBOX_NO_FILES_H
#define PROOFBOX_NO_FILES_H
#ifdef __cplusplus
#include <istream>
#include <string>
_LIBCPP_BEGIN_NAMESPACE_STD
template <class Stream> class stream_of_no_file : public Stream {
public:
    stream_of_no_file() : Stream(nullptr) {}
    template <class Name> explicit stream_of_no_file(const Name &, ios_base::openmode = {}) : Stream(nullptr) {}
    template <class Name> void open(const Name &, ios_base::openmode = {}) { this->setstate(ios_base::failbit); }
    bool is_open() const { return false; }
    void close() {}
};
template <class Char, class Traits> class basic_ifstream : public stream_of_no_file<basic_istream<Char, Traits>> {
    using stream_of_no_file<basic_istream<Char, Traits>>::stream_of_no_file;
};
template <class Char, class Traits> class basic_ofstream : public stream_of_no_file<basic_ostream<Char, Traits>> {
    using stream_of_no_file<basic_ostream<Char, Traits>>::stream_of_no_file;
};
_LIBCPP_END_NAMESPACE_STD
#endif
#endif
