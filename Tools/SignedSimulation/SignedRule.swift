/// A rule of signed containers that a run can be without.
///
/// Each run without a rule that is needed goes wrong now and then; a rule whose absence never shows is not needed.
package enum SignedRule: String, CaseIterable, Sendable {
    /// The logs of a removed author do not count, unless the base holds them.
    case cut
    /// The logs of a removed account's devices that nobody had heard of do not count either.
    case unknownDevices = "unknown-devices"
    /// A device is its name and its key.
    case deviceKeys = "device-keys"
    /// A log has the rights that the policy gives which it names.
    case rolesAsNamed = "roles-as-named"
    /// A statement is in effect once its base is here.
    case baseFirst = "base-first"
    /// A removal builds the domain again, from the base.
    case rebuild
    /// A baseline counts only from its domain's authority.
    case authorityBaselines = "authority-baselines"
    /// A baseline counts only if it was made since the last removal.
    case freshBaselines = "fresh-baselines"
    /// Two policies of one number stop imports into the roles' domain.
    case forkFreezes = "fork-freezes"
    /// A policy that merges a fork has a base that holds what the baselines of both branches hold.
    case branchBaselines = "branch-baselines"
    /// Only changes that count in a domain move its clock.
    case clocksByDomain = "clocks-by-domain"
    /// Authors remove only logs that a baseline of their domains' authorities holds.
    case trimHeld = "trim-held"
    /// Authors remove only logs that all devices of their account have joined.
    case allReceipts = "all-receipts"
    /// Authors put back what a new base lacks.
    case putBack = "put-back"
    /// A baseline holds the logs of its branch, not all up to a number.
    case coverByHash = "cover-by-hash"
    /// A policy of a later term overrules those of earlier terms.
    case terms
}
