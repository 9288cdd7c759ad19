internal import StoreAuthority
internal import StoreExchange
internal import StoreFormat
package import SystemPackage
package import UbiquityContainers

/// What the statements of a public container say, as tools show it.
package struct PolicyReport: Codable, Sendable {
    /// A table, and who changes its records.
    package struct Table: Codable, Sendable {
        package var name: String
        /// The column that names the account of a record; nil in a table of a role.
        package var creator: String?
        /// The role whose holders change all records; nil in a table of accounts.
        package var role: String?
    }

    /// An account.
    package struct Account: Codable, Sendable {
        package var account: String
        /// The version of its statement in effect.
        package var version: Int64
        package var devices: [String]
        package var roles: [String]
        package var isAdmitted: Bool
    }

    /// A policy that its steward, an heir or the owner had the right to sign.
    package struct Version: Codable, Sendable {
        package var policy: String
        package var version: Int64
        package var term: Int64
        /// Whether it is in effect, or is before the policy that is.
        package var counts: Bool
    }

    /// A file that has no effect.
    package struct Fault: Codable, Sendable {
        package var file: String
        package var reason: String
    }

    /// The limits of an account.
    package struct Limits: Codable, Sendable {
        /// The number of logs of a device.
        package var logs: Int64
        /// The number of records of an account that a table shows.
        package var records: Int64
    }

    package var container: String
    /// The version of the policy in effect; nil while none is here.
    package var version: Int64?
    package var term: Int64?
    package var owner: String?
    package var steward: String?
    /// Whether two policies of one number wait to be merged.
    package var isForked: Bool
    /// The hash of the policy in effect; nil while none is here.
    package var policy: String?
    /// The public keys of the registrars; nil if every account may contribute.
    package var registrars: [String]?
    /// The public keys of those who may succeed the owner.
    package var heirs: [String]
    package var limits: Limits?
    /// The bases that statements name and that are not here, so that the statements are not in effect.
    package var awaited: [String]
    /// Whether the steward has to sign a policy without a decision, because an account that holds a role has other devices.
    package var owesPolicy: Bool
    /// The policies, oldest first.
    package var history: [Version]
    package var tables: [Table]
    package var accounts: [Account]
    package var faults: [Fault]

    /// Reads the statements in the directory of a container.
    ///
    /// - Parameters:
    ///   - path: the directory, `<root>/public/<container>`.
    ///   - files: reads the files.
    /// - Throws: `UbiquitousStoreError` with `notFound` if the directory is no public container; `Errno`.
    package init(of path: FilePath, files: any FileLayer = LinuxFileLayer()) throws {
        guard let container = path.lastComponent.flatMap({ ScopeIdentifier($0.string) }) else {
            throw UbiquitousStoreError(
                .notFound, "\(path) is no public container, whose name is an identifier of 52 letters and digits.", path: path)
        }
        let directory = ScopeDirectory(path, container, files)
        guard try files.kind(of: directory.authority) == .directory else {
            throw UbiquitousStoreError(.notFound, "\(path) has no statements; check the path.", path: path)
        }
        var faulty: [FilePath: ScopeDirectory.Faulty] = [:]
        let listing = try directory.look(besides: [], faulty: &faulty)
        let authority = try directory.readAuthority()
        let policy = authority.policy?.value
        self.container = container.description
        (version, term) = (policy?.version, policy?.term)
        (owner, steward) = (policy?.owner.description, policy?.stewardPeer.description)
        isForked = authority.isForked
        self.policy = authority.policy?.id.description
        registrars = if case .registrars(let keys)? = policy?.admission { keys.map(\.description).sorted() } else { nil }
        heirs = (policy?.heirs ?? []).map(\.description).sorted()
        limits = policy.map { Limits(logs: $0.limits.logs, records: $0.limits.records) }
        var present = Authority(container: container)
        _ = present.insert(listing.new.map(\.statement))
        awaited = present.awaitedBases.sorted().filter { !Self.isThere($0, path, policy?.epoch ?? 1, files) }.map { "\($0.name) of \($0.peer)" }
        owesPolicy = authority.owesPolicy
        history = authority.history.map {
            Version(policy: $0.id.description, version: $0.value.version, term: $0.value.term, counts: authority.counts($0))
        }
        tables = (policy?.access ?? [:]).sorted { $0.key < $1.key }.map { name, access in
            switch access {
            case .creator(let column): Table(name: name, creator: column)
            case .role(let role): Table(name: name, role: role)
            }
        }
        accounts = authority.knownAccounts.sorted().map { account in
            Account(
                account: account.description, version: authority.statement(of: account)?.value.version ?? 0,
                devices: authority.deviceKeys(of: account).keys.sorted().map(\.description),
                roles: (policy?.roles ?? [:]).filter { $0.value.contains(account) }.keys.sorted(), isAdmitted: authority.isAdmitted(account))
        }
        faults = listing.faults.map { Fault(file: $0.file.string, reason: $0.fault.description) }
        faults += listing.unreadable.map { Fault(file: $0.file.string, reason: "it cannot be read (\($0.error))") }
        for (statement, _) in listing.new {
            guard case .refused(let fault) = authority.judgement(of: statement.id), let file = statement.path else { continue }
            faults.append(Fault(file: file.string, reason: fault.description))
        }
        faults.sort { $0.file < $1.file }
    }

    /// Returns whether the file of a base is in any content of a container.
    private static func isThere(_ base: BaselineID, _ container: FilePath, _ epoch: Int64, _ files: any FileLayer) -> Bool {
        let contents = try? files.directoryNames(in: container.appending(UbiquityContainer.storesName))
        return (contents ?? []).contains { content in
            let file = ContentLayout(container: container, content: content).baseline(base, epoch: epoch)
            return (try? files.kind(of: file)) == .file
        }
    }
}
