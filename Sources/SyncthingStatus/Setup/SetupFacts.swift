package import SystemPackage
package import UbiquityContainers

/// What somebody wants a device to be.
package struct SetupWish: Hashable, Sendable {
    package var account: AccountName
    /// The containers root, absolute and without symbolic links.
    package var root: FilePath
    /// The name of this device for people.
    package var deviceName: String
    /// The code of the device to join; nil on the first device.
    package var join: PairingCode?
    /// Addresses of that device for Syncthing, such as `tcp://192.168.1.7:22000`.
    package var addresses: [String] = []
    /// Whether another account may be signed out.
    package var switchesAccount = false
    /// Whether files that are in the root, and devices that share its folder, may share with the account's devices.
    package var sharesContents = false

    package init(account: AccountName, root: FilePath, deviceName: String) {
        self.account = account
        self.root = root
        self.deviceName = deviceName
    }
}

/// What is there on a device, as far as the setup depends on it.
package struct SetupFacts: Sendable {
    /// The containers root.
    package enum Root: Hashable, Sendable {
        case nothing
        case directory(isWritable: Bool)
        /// Another kind of file, or a link that leads nowhere.
        case unusable
    }

    /// A folder of Syncthing.
    package struct Folder: Hashable, Sendable {
        package var id: String
        package var label: String
        /// The path without symbolic links.
        package var path: FilePath
        package var type: String
        package var isPaused: Bool
        /// The other devices that share it.
        package var others: [String]

        package init(id: String, label: String = "", path: FilePath, type: String = "sendreceive", isPaused: Bool = false, others: [String] = []) {
            self.id = id
            self.label = label
            self.path = path
            self.type = type
            self.isPaused = isPaused
            self.others = others
        }
    }

    /// Another device in Syncthing's configuration.
    package struct Device: Hashable, Sendable {
        package var id: String
        package var name: String
        package var isPaused: Bool

        package init(id: String, name: String = "", isPaused: Bool = false) {
            self.id = id
            self.name = name
            self.isPaused = isPaused
        }
    }

    /// A Syncthing that answers.
    package struct Answer: Hashable, Sendable {
        package var version: String
        package var device: DeviceIdentifier
        /// The name of this device in Syncthing.
        package var name: String
        package var folders: [Folder] = []
        /// The other devices.
        package var devices: [Device] = []
        /// The devices whose index holds the account's directory: these devices share it, and are or were connected.
        package var holders: Set<String> = []
        package var connected: Set<String> = []

        package init(version: String, device: DeviceIdentifier, name: String) {
            self.version = version
            self.device = device
            self.name = name
        }
    }

    package enum Syncthing: Hashable, Sendable {
        /// The user has none yet.
        case missing
        case stopped
        case running(Answer)
    }

    /// The account that is signed in.
    package var account: AccountName?
    /// The root of the account that is wished for, if this device knows it.
    package var accountRoot: FilePath?
    /// The device home, without symbolic links.
    package var home: FilePath
    package var root = Root.nothing
    /// Entries of the root that are neither an account's directory nor Syncthing's own.
    package var strangers: [String] = []
    /// Whether the account's own directory is there, which tells other devices that this one shares the root.
    package var hasAccountDirectory = false
    /// Whether `.stignore` of the root has the rule for what stays on this device.
    package var hasRule = false
    package var deviceName: String?
    /// The name that Syncthing gives a device whose user has not named it.
    package var hostName: String
    package var transport: String?
    /// The Syncthing in `config.json`.
    package var configured: SyncthingConfiguration?
    /// The Syncthing that was found; nil if there is none.
    package var found: SyncthingConfiguration?
    package var syncthing = Syncthing.missing
    /// The folder that setup has added.
    package var madeFolder: String?

    package init(home: FilePath, hostName: String) {
        self.home = home
        self.hostName = hostName
    }

    /// The folder of Syncthing whose directory is the root.
    package func folder(at root: FilePath) -> Folder? {
        guard case .running(let answer) = syncthing else { return nil }
        return answer.folders.first { $0.path == root }
    }

    /// Whether this device and another one see the account's directory of each other.
    package func sees(_ device: String, in root: FilePath) -> Bool {
        guard case .running(let answer) = syncthing, let folder = folder(at: root) else { return false }
        return folder.others.contains(device) && answer.connected.contains(device) && answer.holders.contains(device)
    }
}
