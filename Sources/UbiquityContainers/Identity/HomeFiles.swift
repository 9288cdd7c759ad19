internal import Foundation
internal import SystemPackage

/// Reads and replaces the files of a device home.
///
/// A file is replaced as a whole (temporary file, fsync, rename, fsync of the directory): a crash leaves the old or the
/// new content.
struct HomeFiles {
    let home: DeviceHome
    let files: any FileLayer = LinuxFileLayer()

    var accountFile: FilePath { home.path.appending("account.json") }
    var accounts: FilePath { home.path.appending("accounts") }
    var configurationFile: FilePath { home.path.appending("config.json") }
    func recordFile(of name: AccountName) -> FilePath { accounts.appending("\(name).json") }

    /// Creates the home with its ancestors.
    func prepare() throws(ContainerError) {
        do {
            try FileManager.default.createDirectory(atPath: accounts.string, withIntermediateDirectories: true)
        } catch {
            throw ContainerError(
                .fileSystem, "The device home \(home.path) cannot be created; choose a writable one with --home or UBIQUITY_HOME.",
                path: home.path, cause: Self.reason(error))
        }
    }

    /// Runs the body while no other process changes the home.
    func locked<Result>(_ body: () throws(ContainerError) -> Result) throws(ContainerError) -> Result {
        let file = home.path.appending("lock")
        let lock: FileLock
        do {
            lock = try FileLock.waiting(for: file)
        } catch {
            throw unwritable(file, error)
        }
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }

    func requireDirectory(_ path: FilePath, as what: String) throws(ContainerError) {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path.string, isDirectory: &isDirectory) else {
            throw ContainerError(.rootUnavailable, "The \(what) \(path) does not exist; create it, or name another directory.", path: path)
        }
        guard isDirectory.boolValue else {
            throw ContainerError(.rootUnavailable, "The \(what) \(path) is not a directory; name another.", path: path)
        }
    }

    func record(of name: AccountName) throws(ContainerError) -> AccountRecord? {
        try read(AccountRecord.self, from: recordFile(of: name))
    }

    func write(_ record: AccountRecord, of name: AccountName) throws(ContainerError) {
        try write(record, to: recordFile(of: name))
    }

    /// Decodes a file; nil if it does not exist.
    func read<Value: Decodable & HomeFormat>(_ type: Value.Type, from file: FilePath) throws(ContainerError) -> Value? {
        let bytes: [UInt8]
        do {
            bytes = try files.read(file, limit: 16 << 20)
        } catch .noSuchFileOrDirectory {
            return nil
        } catch {
            throw ContainerError(.fileSystem, "\(file) cannot be read; check its owner and mode.", path: file, cause: error)
        }
        do {
            let value = try JSONDecoder().decode(type, from: Data(bytes))
            guard value.format <= HomeFormatVersion.current else {
                throw ContainerError(
                    .newerFormat, "\(file) was written by a newer version (format \(value.format)); update this program.", path: file)
            }
            return value
        } catch let error as ContainerError {
            throw error
        } catch {
            throw ContainerError(.malformed, "\(file) is damaged; \(Value.remedy).", path: file, cause: MemberFault(error))
        }
    }

    /// Replaces a file.
    func write(_ value: some Encodable, to file: FilePath) throws(ContainerError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let temporary = file.removingLastComponent().appending(".\(file.lastComponent!).\(UUID().uuidString)")
        do {
            let bytes = try [UInt8](encoder.encode(value)) + [UInt8(ascii: "\n")]
            try files.writeNew(temporary, bytes)
            try files.renameOver(temporary, to: file)
            try files.syncDirectory(file.removingLastComponent())
        } catch {
            try? files.remove(temporary)
            throw unwritable(file, error)
        }
    }

    func removeAccountFile() throws(ContainerError) {
        do {
            try files.remove(accountFile)
            try files.syncDirectory(home.path)
        } catch {
            throw unwritable(accountFile, error)
        }
    }

    private func unwritable(_ file: FilePath, _ error: any Error) -> ContainerError {
        ContainerError(
            .fileSystem, "\(file) cannot be written; check the directory's owner, mode and free space.", path: file, cause: Self.reason(error))
    }

    /// Returns the errno inside a Cocoa error, which is shorter and more precise.
    private static func reason(_ error: any Error) -> any Error {
        let cocoa = error as NSError
        if let inner = cocoa.userInfo[NSUnderlyingErrorKey] as? any Error {
            let posix = inner as NSError
            if posix.domain == NSPOSIXErrorDomain { return Errno(rawValue: Int32(posix.code)) }
        }
        return cocoa.domain == NSPOSIXErrorDomain ? Errno(rawValue: Int32(cocoa.code)) : error
    }
}
