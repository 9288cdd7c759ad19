internal import Foundation
internal import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// A source of records: a file in one of the formats, which each reading opens again.
///
/// Input that is not a regular file is first copied to its end, so that no save waits for the other end of a pipe.
package struct RecordInput: Sendable {
    private enum Source {
        case file(FilePath)
        /// A copy of a pipe's content, in a file without a name.
        case copy(UnnamedFile)
    }

    /// A file without a name; the kernel frees it when its last descriptor is closed.
    private final class UnnamedFile: Sendable {
        let descriptor: FileDescriptor

        init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

        deinit { try? descriptor.close() }
    }

    /// The input's name in messages.
    package let name: String
    package let format: RecordFormat
    private let source: Source

    /// The table of all records, from the file's name; nil if each record names its own table.
    var table: String? { format == .csv ? CSVFile.table(of: FilePath(name)) : nil }

    /// Returns the inputs that an argument names.
    ///
    /// - Parameters:
    ///   - argument: a file, a directory of CSV files, or `-` for standard input.
    ///   - format: the format; nil to derive it from the file's extension.
    /// - Returns: the inputs; those of a directory are sorted by name.
    /// - Throws: `UbiquitousStoreError` if nothing can be read, or the format is unknown.
    package static func inputs(of argument: String, format: RecordFormat? = nil) throws -> [RecordInput] {
        if argument == "-" {
            guard format != .csv else {
                throw UbiquitousStoreError(.unsupported, "CSV on standard input does not name its table: put it into a file called <table>.csv.")
            }
            return [RecordInput(name: "standard input", format: .jsonLines, source: .copy(try copy(of: .standardInput, called: "Standard input")))]
        }
        return try inputs(of: FilePath(argument), format: format)
    }

    /// Returns the inputs at a path.
    ///
    /// - Parameters:
    ///   - path: a file, or a directory of CSV files.
    ///   - format: the format; nil to derive it from the file's extension.
    /// - Returns: the inputs; those of a directory are sorted by name.
    /// - Throws: `UbiquitousStoreError` if nothing can be read, or the format is unknown.
    package static func inputs(of path: FilePath, format: RecordFormat? = nil) throws -> [RecordInput] {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path.string, isDirectory: &isDirectory) else {
            throw UbiquitousStoreError(.notFound, "There is no file \(path) to import.", path: path)
        }
        guard isDirectory.boolValue else { return [try RecordInput(file: path, format: format)] }
        do {
            let files = try LinuxFileLayer().names(in: path).filter { FilePath($0).extension == CSVFile.fileExtension }.sorted()
            guard !files.isEmpty, format != .jsonLines else {
                throw UbiquitousStoreError(.unsupported, "The directory \(path) has no file that ends in .csv; name the files to import.", path: path)
            }
            return try files.map { try RecordInput(file: path.appending($0), format: .csv) }
        } catch let error as Errno {
            throw unreadable(path.string, path, error)
        }
    }

    private init(name: String, format: RecordFormat, source: Source) {
        self.name = name
        self.format = format
        self.source = source
    }

    private init(file: FilePath, format: RecordFormat?) throws {
        let extensions: [String: RecordFormat] = ["jsonl": .jsonLines, "ndjson": .jsonLines, CSVFile.fileExtension: .csv]
        guard let format = format ?? extensions[file.extension ?? ""] else {
            throw UbiquitousStoreError(
                .unsupported, "\(file) has no extension that names its format: rename it to .jsonl or .csv, or name the format (--format).",
                path: file)
        }
        let attributes = try? FileManager.default.attributesOfItem(atPath: PathFacts.resolved(file).string)
        if attributes?[.type] as? FileAttributeType == .typeRegular {
            self.init(name: file.string, format: format, source: .file(file))
        } else {
            do {
                let pipe = try FileDescriptor.open(file, .readOnly, options: .closeOnExec)
                let copy = try pipe.closeAfter { try Self.copy(of: pipe, called: file.string) }
                self.init(name: file.string, format: format, source: .copy(copy))
            } catch let error as Errno {
                throw Self.unreadable(file.string, file, error)
            }
        }
    }

    /// Reads the whole input in pieces.
    ///
    /// - Parameter body: receives each piece, none of them empty.
    /// - Throws: `UbiquitousStoreError` if the input cannot be read, and the body's errors.
    func forEachPiece(_ body: (ArraySlice<UInt8>) throws -> Void) throws {
        let descriptor: FileDescriptor
        switch source {
        case .file(let path):
            do {
                descriptor = try FileDescriptor.open(path, .readOnly, options: .closeOnExec)
            } catch {
                throw Self.unreadable(name, path, error)
            }
        case .copy(let copy): descriptor = copy.descriptor
        }
        defer { if case .file = source { try? descriptor.close() } }
        var offset: Int64 = 0
        while true {
            let piece: [UInt8]
            do {
                piece = try Self.piece { try descriptor.read(fromAbsoluteOffset: offset, into: $0) }
            } catch {
                throw Self.unreadable(name, FilePath(name), error)
            }
            if piece.isEmpty { return }
            try body(piece[...])
            offset += Int64(piece.count)
        }
    }

    private static func piece(_ read: (UnsafeMutableRawBufferPointer) throws -> Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: 1 << 18) { buffer, count in count = try read(UnsafeMutableRawBufferPointer(buffer)) }
    }

    /// Copies everything from a descriptor into a file without a name.
    ///
    /// A process that is killed between creating the file and removing its name leaves an empty file.
    private static func copy(of pipe: FileDescriptor, called name: String) throws -> UnnamedFile {
        let path = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-import-\(UUID().uuidString)")
        do {
            let copy = UnnamedFile(
                try .open(path, .readWrite, options: [.create, .exclusiveCreate, .closeOnExec], permissions: .ownerReadWrite))
            try LinuxFileLayer().remove(path)
            while true {
                let piece = try piece { try pipe.read(into: $0) }
                if piece.isEmpty { return copy }
                try copy.descriptor.writeAll(piece)
            }
        } catch {
            throw UbiquitousStoreError(
                .fileSystem, "\(name) cannot be read, or cannot be copied to \(path); check the free space there, or set TMPDIR.", path: path,
                cause: error)
        }
    }

    private static func unreadable(_ name: String, _ path: FilePath, _ error: any Error) -> UbiquitousStoreError {
        UbiquitousStoreError(.fileSystem, "\(name) cannot be read; check its owner and mode.", path: path, cause: error)
    }
}

/// The name of a CSV file, which names the table of its records.
enum CSVFile {
    static let fileExtension = "csv"

    /// Returns the name of a table's file; characters that are not allowed in a file's name are percent-encoded.
    static func name(of table: String) -> String {
        var name = ""
        for scalar in table.unicodeScalars {
            if scalar.value < 0x20 || scalar == "/" || scalar == "%" {
                name += (scalar.value < 0x10 ? "%0" : "%") + String(scalar.value, radix: 16, uppercase: true)
            } else {
                name.unicodeScalars.append(scalar)
            }
        }
        return "\(name).\(fileExtension)"
    }

    /// Returns the table of a file.
    static func table(of file: FilePath) -> String {
        let stem = file.lastComponent?.string ?? ""
        let name = stem.hasSuffix(".\(fileExtension)") ? String(stem.dropLast(fileExtension.count + 1)) : file.stem ?? ""
        return name.removingPercentEncoding ?? name
    }
}
