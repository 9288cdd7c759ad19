internal import Foundation
package import StoreAuthority
package import StoreFormat
package import SystemPackage
package import UbiquityContainers

/// The statements in the directory of a container with a scope.
///
/// A policy is `authority/<version>.<hash>.ubpolicy`. In `accounts/<account>`, an account's statement is
/// `<version>.<hash>.ubaccount`, an enrolment is `<hash>.ubenrolment`, and an admittance is `<hash>.ubadmission`.
package struct ScopeDirectory: Sendable {
    /// The container's directory.
    package let path: FilePath
    package let container: ScopeIdentifier
    package let files: any FileLayer

    package init(_ path: FilePath, _ container: ScopeIdentifier, _ files: any FileLayer) {
        (self.path, self.container, self.files) = (path, container, files)
    }

    package static let authorityName = "authority"
    package static let accountsName = "accounts"

    package var authority: FilePath { path.appending(Self.authorityName) }
    package var accounts: FilePath { path.appending(Self.accountsName) }

    /// What a look has found.
    package struct Listing: Sendable {
        /// The statements that were not known, with their files.
        package var new: [(statement: Statement, bytes: [UInt8])] = []
        /// The files that are no valid statements, by their paths in the container.
        package var faults: [(file: FilePath, fault: LogFault)] = []
        /// The files that cannot be read now.
        package var unreadable: [(file: FilePath, error: Errno)] = []
    }

    /// A file that is no valid statement.
    package struct Faulty: Sendable {
        /// The size of the file in bytes when it was read; a file of another size is read again, as one that a
        /// synchroniser had not written to its end.
        package var size: Int64
        package var fault: LogFault
    }

    /// Reads the statements that are not known.
    ///
    /// - Parameters:
    ///   - known: the hashes of the known ones.
    ///   - faulty: the files that have been found to be faulty; those found now are added, and those that are gone removed.
    /// - Returns: the new statements, each verified.
    /// - Throws: `Errno` if the container's directory cannot be listed.
    package func look(besides known: Set<ContentHash>, faulty: inout [FilePath: Faulty]) throws -> Listing {
        var listing = Listing()
        var found: [Found] = []
        for name in try files.directoryNames(in: authority) ?? [] {
            read(FilePath(Self.authorityName).appending(name), known, faulty, &found, &listing)
        }
        for folder in try files.directoryNames(in: accounts) ?? [] where AccountIdentifier(folder) != nil {
            for name in try files.directoryNames(in: accounts.appending(folder)) ?? [] {
                read(FilePath(Self.accountsName).appending(folder).appending(name), known, faulty, &found, &listing)
            }
        }
        for (file, statement) in zip(found, found.mapOnAllProcessors { [container] in $0.statement(in: container) }) {
            switch statement {
            case .success(let statement): listing.new.append((statement, file.bytes))
            case .failure(let fault):
                faulty[file.file] = Faulty(size: Int64(file.bytes.count), fault: fault)
                listing.faults.append((file.file, fault))
            }
        }
        let listed = Set(listing.faults.map(\.file))
        for file in faulty.keys where !listed.contains(file) { faulty[file] = nil }
        return listing
    }

    /// A file that has not been read before.
    private struct Found: Sendable {
        var file: FilePath
        var bytes: [UInt8]

        /// Returns the statement in the file, whose signature is valid and whose name fits.
        func statement(in container: ScopeIdentifier) -> Result<Statement, LogFault> {
            Result { () throws(LogFault) in
                let statement = try Statement(decoding: bytes, in: container)
                guard statement.path == file else {
                    throw .damaged("its name does not fit its content\(statement.path.map { "; it belongs at \($0)" } ?? "")")
                }
                return statement
            }
        }
    }

    private static let kinds = ["ubpolicy", "ubaccount", "ubenrolment", "ubadmission"]

    private func read(
        _ file: FilePath, _ known: Set<ContentHash>, _ faulty: [FilePath: Faulty], _ found: inout [Found], _ listing: inout Listing
    ) {
        // A synchroniser's own files, and drafts, have other names.
        guard let kind = file.extension, Self.kinds.contains(kind), let name = file.stem,
            let hash = ContentHash(hexadecimal: name.split(separator: ".").last ?? "")
        else { return }
        if known.contains(hash) { return }
        do {
            if let faulty = faulty[file], try files.size(of: path.pushing(file)) == faulty.size {
                return listing.faults.append((file, faulty.fault))
            }
            found.append(Found(file: file, bytes: try files.read(path.pushing(file), limit: Envelope.limit)))
        } catch Errno.noSuchFileOrDirectory {
        } catch {
            listing.unreadable.append((file, error))
        }
    }

    /// Writes a statement's file, unless it is there, and makes its name durable.
    ///
    /// - Parameter bytes: the signed file.
    /// - Throws: `Errno`; `LogFault` if the bytes are no statement of this container.
    package func write(_ bytes: [UInt8]) throws {
        let statement = try Statement(decoding: bytes, in: container)
        guard let name = statement.path else { throw LogFault.damaged("a warrant lies beside its baseline") }
        let file = path.pushing(name)
        let folder = file.removingLastComponent()
        for directory in [folder.removingLastComponent(), folder] where directory != path { try files.makeDirectory(directory) }
        // A synchroniser that sees the draft passes it on with a name that no reader reads.
        let draft = folder.appending(".\(UUID().uuidString).nosync")
        try files.writeNew(draft, bytes)
        do {
            try files.renameNew(draft, to: file)
        } catch Errno.fileExists {
            try files.remove(draft)
            if try files.read(file, limit: Envelope.limit) != bytes { throw Errno.fileExists }
        } catch {
            try? files.remove(draft)
            throw error
        }
        for directory in [folder, folder.removingLastComponent()] { try files.syncDirectory(directory) }
    }
}

extension Statement {
    /// The path of the statement's file in the container; nil for a baseline's warrant, which lies beside the baseline.
    package var path: FilePath? {
        switch self {
        case .policy(let policy): FilePath(ScopeDirectory.authorityName).appending("\(policy.value.version).\(policy.id).ubpolicy")
        case .account(let statement): folder(statement.account).appending("\(statement.value.version).\(statement.id).ubaccount")
        case .enrolment(let enrolment): folder(enrolment.value.account).appending("\(enrolment.id).ubenrolment")
        case .admittance(let admittance): folder(admittance.value.account).appending("\(admittance.id).ubadmission")
        case .warrant: nil
        }
    }

    private func folder(_ account: AccountIdentifier) -> FilePath { FilePath(ScopeDirectory.accountsName).appending(account.description) }
}

extension ScopeDirectory {
    /// Reads all statements that are here.
    ///
    /// - Returns: what follows from them; bases count as here if their files are named.
    /// - Throws: `Errno` if the directory cannot be listed.
    package func readAuthority() throws -> Authority {
        var faulty: [FilePath: Faulty] = [:]
        var authority = Authority(container: container)
        _ = authority.insert(try look(besides: [], faulty: &faulty).new.map(\.statement))
        // Whether the bases are here, the stores find out. Who holds what is the newest statement's to say.
        _ = authority.insert([], baselines: authority.awaitedBases)
        return authority
    }
}
