public import UbiquityContainers

/// What becomes of what was saved while nobody was signed in, once somebody is.
public enum JoiningPolicy: Sendable {
    /// It is joined into the account's store, and reaches its other devices.
    case merge
    /// It stays on this device, and shows again once nobody is signed in.
    case keepSeparate
    /// The app is asked, each time that there is something to join; until it answers, the store stays with the file of this device.
    ///
    /// The task of a question that has become void, for another account has been signed in or none, is cancelled, and its answer not regarded.
    case ask(@Sendable (AccountName) async -> Answer)

    /// An answer.
    public enum Answer: Sendable {
        /// As ``JoiningPolicy/merge``.
        case merge
        /// As ``JoiningPolicy/keepSeparate``.
        case keepSeparate
    }
}
