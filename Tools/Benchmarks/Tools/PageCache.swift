import Foundation
import Glibc
import SystemPackage

/// Files that a measurement reads from the disk, or from the kernel's page cache.
struct PageCache {
    private let files: [FilePath]

    /// Takes files, and the regular files below directories.
    init(_ paths: [FilePath]) {
        files = paths.flatMap { path in
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path.string, isDirectory: &isDirectory), isDirectory.boolValue else { return [path] }
            return (FileManager.default.enumerator(atPath: path.string)?.compactMap { $0 as? String } ?? []).map { path.appending($0) }
        }.filter { (try? FileManager.default.attributesOfItem(atPath: $0.string)[.type] as? FileAttributeType) == .typeRegular }
    }

    /// The files that a program is loaded from: its own, and those of its shared libraries.
    ///
    /// The dynamic loader lists them; see ld.so(8), `LD_TRACE_LOADED_OBJECTS`.
    static func files(of program: String) throws -> [FilePath] {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: program)
        process.environment = ProcessInfo.processInfo.environment.merging(["LD_TRACE_LOADED_OBJECTS": "1"]) { $1 }
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return [FilePath(program)] + text.matches(of: /=> (\/[^ ]+) \(/).map { FilePath(String($0.1)) }
    }

    /// Drops the files from the cache, as far as no process maps them; see posix_fadvise(2).
    ///
    /// Nothing else of the machine is dropped, so that neighbours do not notice. Names and inodes stay known.
    func evict() throws {
        for file in files {
            let descriptor = try FileDescriptor.open(file, .readOnly)
            defer { try? descriptor.close() }
            // Pages that are not written back yet stay.
            fsync(descriptor.rawValue)
            let error = posix_fadvise(descriptor.rawValue, 0, 0, POSIX_FADV_DONTNEED)
            guard error == 0 else { throw Errno(rawValue: error) }
        }
    }

    /// The share of the files' pages that are in memory, from 0 to 1; see mincore(2).
    func residentShare() throws -> Double {
        var (resident, total) = (0, 0)
        let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))
        for file in files {
            let descriptor = try FileDescriptor.open(file, .readOnly)
            defer { try? descriptor.close() }
            let size = Int(try descriptor.seek(offset: 0, from: .end))
            guard size > 0 else { continue }
            guard let address = mmap(nil, size, PROT_READ, MAP_SHARED, descriptor.rawValue, 0), address != MAP_FAILED else {
                throw Errno(rawValue: errno)
            }
            defer { munmap(address, size) }
            var pages = [UInt8](repeating: 0, count: (size + pageSize - 1) / pageSize)
            guard mincore(address, size, &pages) == 0 else { throw Errno(rawValue: errno) }
            resident += pages.count { $0 & 1 != 0 }
            total += pages.count
        }
        return total == 0 ? 0 : Double(resident) / Double(total)
    }
}
