internal import Glibc
internal import SystemPackage

/// The condition of a device home.
package struct HomeFacts: Sendable {
    /// One of its JSON files.
    package struct File: Sendable {
        package enum Role: Sendable, Equatable {
            case account
            case configuration
            /// `accounts/<name>.json`, with the name.
            case record(String)
        }

        package var role: Role
        package var place: PathFacts
        /// The reason why it is unusable; nil if it is usable or does not exist.
        package var fault: ContainerError?

        package init(role: Role, place: PathFacts, fault: ContainerError? = nil) {
            self.role = role
            self.place = place
            self.fault = fault
        }
    }

    /// The account that is signed in.
    package struct Account: Sendable {
        package var name: String
        package var root: PathFacts
        /// Whether the user has chosen the root; otherwise it is in the home.
        package var isRootChosen: Bool
        /// This device's peers, by container.
        package var peers: [String: AccountRecord.Peer]

        package init(name: String, root: PathFacts, isRootChosen: Bool, peers: [String: AccountRecord.Peer] = [:]) {
            self.name = name
            self.root = root
            self.isRootChosen = isRootChosen
            self.peers = peers
        }
    }

    /// The number of the user that asks.
    package var user: UInt32
    package var home: PathFacts
    /// The directory `accounts`.
    package var accounts: PathFacts
    package var files: [File]
    /// Nil while signed out, and when the account is unknown.
    package var account: Account?
    /// Whether `config.json` contains a key.
    package var hasKey: Bool

    package init(user: UInt32, home: PathFacts, accounts: PathFacts, files: [File] = [], account: Account? = nil, hasKey: Bool = false) {
        self.user = user
        self.home = home
        self.accounts = accounts
        self.files = files
        self.account = account
        self.hasKey = hasKey
    }

    /// Inspects a home without creating anything.
    package init(of home: DeviceHome) {
        let layout = HomeFiles(home: home)
        self.init(user: geteuid(), home: PathFacts(at: home.path), accounts: PathFacts(at: layout.accounts))
        guard case .directory = self.home.kind else { return }
        read(layout.accountFile, .account) { () throws(ContainerError) in try Self.understand(home.account) }
        read(layout.configurationFile, .configuration) { () throws(ContainerError) in
            try Self.understand(UbiquityContainer.declared(in: home))
            try Self.understand(home.syncthing)
        }
        // A file that cannot be understood may also contain a key.
        do { hasKey = try home.syncthing != nil } catch { hasKey = true }
        for name in ((try? layout.files.names(in: layout.accounts)) ?? []).sorted() where name.hasSuffix(".json") && !name.hasPrefix(".") {
            let account = String(name.dropLast(5))
            read(layout.accounts.appending(name), .record(account)) { () throws(ContainerError) in
                try Self.understand(layout.record(of: try AccountName(account)))
            }
        }
        guard let (name, record) = try? home.signedIn else { return }
        account = Account(
            name: name.description, root: PathFacts(answeringAt: home.root(of: record)), isRootChosen: record.containersRoot != nil,
            peers: record.peers)
    }

    private mutating func read(_ path: FilePath, _ role: File.Role, _ body: () throws(ContainerError) -> Void) {
        var file = File(role: role, place: PathFacts(at: path))
        do { try body() } catch { file.fault = error }
        files.append(file)
    }

    /// Marks values whose reading throws if they cannot be understood.
    private static func understand(_ value: some Any) {}
}

extension HomeFacts {
    /// The problems of the home and of the signed-in account.
    package var findings: [Finding] {
        var found = placeFindings
        guard found.isSound || home.isReadable else { return found }
        for file in files { found += findings(of: file) }
        if let account {
            for (container, peer) in account.peers.sorted(by: { $0.key < $1.key }) where PeerIdentifier(peer.identifier)?.account != account.name {
                found.append(
                    Finding(
                        .fault, .account, home.path.appending("accounts/\(account.name).json"),
                        "names \(peer.identifier.debugDescription) as this device's peer in \(container), which is not a peer of the account",
                        "restore it, or remove it and sign in again"))
            }
        } else if files.allSatisfy({ $0.role != .account || $0.fault == nil }) {
            found.append(
                Finding(
                    .warning, .account, home.path, "nobody is signed in, so there are no containers", "sign in with: ubcontrol sign-in ACCOUNT"))
        }
        return found
    }

    private var placeFindings: [Finding] {
        switch home.kind {
        case .nothing:
            return [
                Finding(
                    .fault, .home, home.path, "there is no device home",
                    "sign in with: ubcontrol sign-in ACCOUNT; or name the right home with --home or UBIQUITY_HOME")
            ]
        case .hidden(let error):
            return [
                Finding(
                    .fault, .home, home.path, "the device home cannot be inspected (\(error))", "check the owner and mode of its parent directory")
            ]
        case .directory: break
        case .link, .file, .other:
            return [Finding(.fault, .home, home.path, "the device home is not a directory", "name another with --home or UBIQUITY_HOME")]
        }
        var found: [Finding] = []
        for place in [home, accounts] where place.kind != .nothing {
            let name = place == home ? "the device home" : "the directory of accounts"
            if !place.isReadable || !place.isWritable {
                found.append(
                    Finding(
                        .fault, .home, place.path,
                        "\(name) of user \(place.owner) cannot be \(place.isReadable ? "written" : "read") by user \(user)",
                        "run as its owner, give it to this user, or name another with --home or UBIQUITY_HOME"))
            } else if place.owner != user {
                found.append(
                    Finding(.warning, .home, place.path, "\(name) belongs to user \(place.owner), and this is user \(user)", "run as its owner"))
            }
            if place.isOpenToWriters {
                found.append(
                    Finding(.warning, .home, place.path, "\(name) can be written by others, who could sign in to their account", "chmod go-w"))
            }
        }
        return found
    }

    private func findings(of file: File) -> [Finding] {
        let area: Finding.Area = file.role == .configuration ? .home : .account
        var found: [Finding] = []
        if let fault = file.fault {
            found.append(Finding(.fault, area, file.place.path, message: fault.message, cause: fault.cause))
        }
        guard file.place.kind == .file else { return found }
        if file.place.isOpenToWriters {
            found.append(Finding(.warning, area, file.place.path, "can be written by others", "chmod go-w"))
        }
        if file.role == .configuration, hasKey, file.place.isOpenToReaders {
            found.append(
                Finding(
                    .warning, area, file.place.path, "holds Syncthing's key, and others can read it",
                    "chmod 600, and let Syncthing make another key")
            )
        }
        return found
    }
}
