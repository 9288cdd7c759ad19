import Foundation
import GRDBSQLite
import Synchronization

/// SQLite's own way to the kernel, with what it does to the files of watched disks told to these (sqlite.org/vfs.html).
///
/// It becomes the default of this process; files of no disk go straight through.
enum PowerLossVFS {
    /// The disks that are watched.
    static let disks = Mutex<[PowerLossDisk]>([])

    /// Makes it the default; again and again does nothing.
    static func install() { _ = installed }

    /// What stands before SQLite's own file in memory.
    fileprivate struct Header {
        var methods: UnsafePointer<sqlite3_io_methods>?
        var disk: Unmanaged<PowerLossDisk>
        var number: Int
        /// The directory to be synced with the file's next sync: unixSync() does so once for new journals.
        var directory: Unmanaged<NSString>?
    }

    fileprivate static let offset = (MemoryLayout<Header>.size + 15) / 16 * 16

    nonisolated(unsafe) fileprivate static let base: UnsafeMutablePointer<sqlite3_vfs> = sqlite3_vfs_find("unix")!
    nonisolated(unsafe) private static let installed: UnsafeMutablePointer<sqlite3_vfs> = {
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(to: base.pointee)
        vfs.pointee.pNext = nil
        vfs.pointee.zName = UnsafePointer(strdup("power-loss"))
        vfs.pointee.szOsFile = base.pointee.szOsFile + Int32(offset)
        vfs.pointee.xOpen = openFile
        vfs.pointee.xDelete = deleteFile
        sqlite3_vfs_register(vfs, 1)
        return vfs
    }()

    fileprivate static func disk(for path: String) -> PowerLossDisk? { disks.withLock { $0.first { $0.covers(path) } } }

    nonisolated(unsafe) fileprivate static let methods: UnsafePointer<sqlite3_io_methods> = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.initialize(to: sqlite3_io_methods())
        // Version 2: with shared memory, without mapped pages, whose writes nobody would see.
        methods.pointee.iVersion = 2
        methods.pointee.xClose = { file in
            let header = header(file)
            header.pointee.directory?.release()
            return real(file).pointee.pMethods.pointee.xClose(real(file))
        }
        methods.pointee.xRead = { real($0).pointee.pMethods.pointee.xRead(real($0), $1, $2, $3) }
        methods.pointee.xWrite = { file, bytes, count, offset in
            let header = header(file)
            let code = real(file).pointee.pMethods.pointee.xWrite(real(file), bytes, count, offset)
            if code == SQLITE_OK {
                let copy = Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
                header.pointee.disk.takeUnretainedValue().record(.write(header.pointee.number, at: Int(offset), copy))
            }
            return code
        }
        methods.pointee.xTruncate = { file, size in
            let header = header(file)
            let code = real(file).pointee.pMethods.pointee.xTruncate(real(file), size)
            if code == SQLITE_OK { header.pointee.disk.takeUnretainedValue().record(.truncate(header.pointee.number, to: Int(size))) }
            return code
        }
        methods.pointee.xSync = { file, flags in
            let header = header(file)
            let code = real(file).pointee.pMethods.pointee.xSync(real(file), flags)
            guard code == SQLITE_OK else { return code }
            header.pointee.disk.takeUnretainedValue().record(.sync(header.pointee.number))
            if let directory = header.pointee.directory {
                header.pointee.disk.takeUnretainedValue().record(.syncDirectory(directory.takeRetainedValue() as String))
                header.pointee.directory = nil
            }
            return code
        }
        methods.pointee.xFileSize = { real($0).pointee.pMethods.pointee.xFileSize(real($0), $1) }
        methods.pointee.xLock = { real($0).pointee.pMethods.pointee.xLock(real($0), $1) }
        methods.pointee.xUnlock = { real($0).pointee.pMethods.pointee.xUnlock(real($0), $1) }
        methods.pointee.xCheckReservedLock = { real($0).pointee.pMethods.pointee.xCheckReservedLock(real($0), $1) }
        methods.pointee.xFileControl = { real($0).pointee.pMethods.pointee.xFileControl(real($0), $1, $2) }
        methods.pointee.xSectorSize = { real($0).pointee.pMethods.pointee.xSectorSize(real($0)) }
        // None of what a kind disk does: no atomic writes, no order.
        methods.pointee.xDeviceCharacteristics = { _ in 0 }
        methods.pointee.xShmMap = { real($0).pointee.pMethods.pointee.xShmMap(real($0), $1, $2, $3, $4) }
        methods.pointee.xShmLock = { real($0).pointee.pMethods.pointee.xShmLock(real($0), $1, $2, $3) }
        methods.pointee.xShmBarrier = { real($0).pointee.pMethods.pointee.xShmBarrier(real($0)) }
        methods.pointee.xShmUnmap = { real($0).pointee.pMethods.pointee.xShmUnmap(real($0), $1) }
        return UnsafePointer(methods)
    }()
}

private func header(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<PowerLossVFS.Header> {
    UnsafeMutableRawPointer(file!).assumingMemoryBound(to: PowerLossVFS.Header.self)
}

/// SQLite's own file, which stands behind the header.
private func real(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<sqlite3_file> {
    (UnsafeMutableRawPointer(file!) + PowerLossVFS.offset).assumingMemoryBound(to: sqlite3_file.self)
}

private func openFile(
    _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ name: sqlite3_filename?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
    _ given: UnsafeMutablePointer<Int32>?
) -> Int32 {
    let base = PowerLossVFS.base
    guard let name, let disk = PowerLossVFS.disk(for: String(cString: name)) else { return base.pointee.xOpen(base, name, file, flags, given) }
    let path = String(cString: name)
    header(file).initialize(to: .init(methods: nil, disk: Unmanaged.passUnretained(disk), number: 0, directory: nil))
    let code = base.pointee.xOpen(base, name, real(file), flags, given)
    guard code == SQLITE_OK else { return code }
    header(file).pointee.methods = PowerLossVFS.methods
    header(file).pointee.number = disk.number(of: path)
    if flags & SQLITE_OPEN_CREATE != 0, flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL) != 0 {
        header(file).pointee.directory = Unmanaged.passRetained((path as NSString).deletingLastPathComponent as NSString)
    }
    return code
}

private func deleteFile(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?, _ syncs: Int32) -> Int32 {
    let base = PowerLossVFS.base
    let code = base.pointee.xDelete(base, name, syncs)
    guard code == SQLITE_OK, let name, let disk = PowerLossVFS.disk(for: String(cString: name)) else { return code }
    disk.record(.remove(String(cString: name)))
    if syncs != 0 { disk.record(.syncDirectory((String(cString: name) as NSString).deletingLastPathComponent)) }
    return code
}
